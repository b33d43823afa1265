"""The kinds of the columns of further public tables, written from their first rows before `inspect` was run on them.

Each table is a file of a public repository, `owner/name:path`. All columns that are not listed are numbers. A `name` is
a category or an entity: which of the two depends on what it tells about a target.
"""

from __future__ import annotations

__all__ = ["REPOSITORY_KEY"]

REPOSITORY_KEY: dict[str, dict[str, str]] = {
    "mwaskom/seaborn-data:taxis.csv": {
        "date": "pickup | dropoff",
        "category": "color | payment | pickup_zone | dropoff_zone | pickup_borough | dropoff_borough",
    },
    "mwaskom/seaborn-data:planets.csv": {"category": "method"},
    "datasciencedojo/datasets:titanic.csv": {
        "row id": "PassengerId | Name",
        "flag": "Survived",
        "code": "Pclass",
        "category": "Sex | Embarked",
        "name": "Ticket | Cabin",
    },
    "datasciencedojo/datasets:WorldDBTables/CountryTable.csv": {
        "row id": "code | name | local_name | code2",
        "category": "continent | region | government_form",
        "name": "head_of_state",
        "code": "capital",
    },
    "fivethirtyeight/data:avengers/avengers.csv": {
        "row id": "URL",
        "name": "Name/Alias",
        "flag": "Current? | Death1 | Return1 | Death2 | Return2 | Return3",
        "category": "Gender | Honorary",
        "date": "Probationary Introl | Full/Reserve Avengers Intro",
        "constant": "Death3 | Death4 | Return4 | Death5 | Return5",
        "text": "Notes",
    },
    "fivethirtyeight/data:bechdel/movies.csv": {
        "row id": "imdb",
        "name": "title",
        "category": "test | clean_test | binary | code",
        "code": "period code | decade code",
    },
    "fivethirtyeight/data:biopics/biopics.csv": {
        "name": "title | site | director | subject | lead_actor_actress",
        "category": "country | type_of_subject | race_known | subject_race | subject_sex",
        "flag": "person_of_color",
        "money": "box_office",
    },
    "fivethirtyeight/data:cabinet-turnover/cabinet-turnover.csv": {
        "category": "president | position | gender",
        "name": "appointee",
        "date": "start_date | end_date",
        "empty": "c9 | c10",
    },
    "fivethirtyeight/data:chess-transfers/transfers.csv": {
        "category": "url | Federation | Form.Fed",
        "code": "ID",
        "date": "Transfer Date",
    },
    "fivethirtyeight/data:comic-characters/dc-wikia-data.csv": {
        "row id": "page_id | name | urlslug",
        "category": "ID | ALIGN | EYE | HAIR | SEX | GSM | ALIVE",
        "date": "FIRST APPEARANCE",
    },
    "fivethirtyeight/data:police-killings/police_killings.csv": {
        "name": "name | streetaddress | city | namelsad | lawenforcementagency",
        "category": "gender | raceethnicity | month | state | cause | armed",
        "constant": "year",
        "code": "state_fp | county_fp | tract_ce | geo_id | county_id",
    },
    "fivethirtyeight/data:obama-commutations/obama_commutations.csv": {"category": "key", "text": "info"},
    "fivethirtyeight/data:pulitzer/pulitzer-circulation-data.csv": {
        "row id": "Newspaper",
        "percent": "Change in Daily Circulation, 2004-2013",
    },
    "fivethirtyeight/data:nfl-suspensions/nfl-suspensions-data.csv": {
        "name": "name | source",
        "category": "team | category | desc.",
    },
    "fivethirtyeight/data:classic-rock/classic-rock-song-list.csv": {
        "name": "Song Clean | ARTIST CLEAN",
        "row id": "COMBINED",
        "constant": "First?",
        "flag": "Year?",
    },
    "fivethirtyeight/data:comma-survey/comma-survey.csv": {
        "row id": "RespondentID",
        "category": (
            "In your opinion, which sentence is more gramatically correct? | How much, if at all, do you care about "
            "the use (or lack thereof) of the serial (or Oxford) comma in grammar? | How would you write the following "
            'sentence? | How much, if at all, do you care about the debate over the use of the word "data" as a '
            "singluar or plural noun? | In your opinion, how important or unimportant is proper use of grammar? | "
            "Gender | Education | Location (Census Region)"
        ),
        "flag": (
            "Prior to reading about it above, had you heard of the serial (or Oxford) comma? | When faced with using "
            'the word "data", have you ever spent time considering if the word was a singular or plural noun?'
        ),
        "range": "Age | Household Income",
    },
    "fivethirtyeight/data:daily-show-guests/daily_show_guests.csv": {
        "category": "GoogleKnowlege_Occupation | Group",
        "date": "Show",
        "name": "Raw_Guest_List",
    },
    "fivethirtyeight/data:mad-men/show-data.csv": {
        "name": "Performer",
        "category": "Show | Status?",
        "text": "lead_notes | support_notes | show_notes",
    },
    "fivethirtyeight/data:fandango/fandango_score_comparison.csv": {"row id": "FILM"},
    "plotly/datasets:2018_Central_Park_Squirrel_Census_-_Squirrel_Data_20250721.csv": {
        "name": "Unique Squirrel ID | Hectare | Specific Location | Other Activities",
        "category": (
            "Shift | Age | Primary Fur Color | Highlight Fur Color | Combination of Primary and Highlight Color | "
            "Location"
        ),
        "date": "Date",
        "text": "Color notes | Other Interactions",
        "flag": (
            "Running | Chasing | Climbing | Eating | Foraging | Kuks | Quaas | Moans | Tail flags | Tail twitches | "
            "Approaches | Indifferent | Runs from"
        ),
        "row id": "Lat/Long",
    },
    "plotly/datasets:2016-weather-data-seattle.csv": {"date": "Date"},
    "plotly/datasets:ag-grid/olympic-winners.csv": {
        "name": "athlete",
        "category": "country | sport",
        "date": "date",
    },
    "plotly/datasets:ag-grid/space-mission-data.csv": {
        "name": "mission | rocket",
        "category": "company | location",
        "date": "date",
        "time": "time",
        "flag": "successful",
    },
    "plotly/datasets:auto-mpg.csv": {},
    "plotly/datasets:dash-sample-apps/dash-medical-provider-charges/data/processed/df_WY_lat_lon.csv": {
        "name": "DRG Definition",
        "category": (
            "Provider Name | Provider Street Address | Provider City | Hospital Referral Region (HRR) Description"
        ),
        "code": "Provider Id | Provider Zip Code",
        "constant": "Provider State",
    },
    "plotly/datasets:US-shooting-incidents.csv": {
        "left out": "",
        "name": "person | dept | dept_name",
        "date": "eow | date",
        "category": "cause | cause_short | state | description | state_name",
        "flag": "canine",
    },
    "plotly/datasets:MTA_Ridership_by_DATA_NY_GOV.csv": {"date": "Date"},
    "plotly/datasets:amazon-purchases-sample.csv": {
        "date": "Order Date",
        "category": "Shipping Address State | Category | Survey ResponseID",
        "text": "Title",
        "name": "ASIN/ISBN (Product Code)",
    },
    "plotly/datasets:311_Animals_short.csv": {
        "row id": "Unique Key",
        "date": "Created Date | Closed Date | Resolution Action Updated Date",
        "category": (
            "Agency | Agency Name | Complaint Type | Descriptor | Location Type | Address Type | City | Status | "
            "Community Board | Borough | Park Borough"
        ),
        "code": "Incident Zip",
        "name": (
            "Incident Address | Street Name | Cross Street 1 | Cross Street 2 | Intersection Street 1 | "
            "Intersection Street 2 | Landmark | Location"
        ),
        "empty": "Facility Type | Due Date",
        "constant": "Park Facility Name",
    },
    "selva86/datasets:supermarket_sales.csv": {
        "row id": "Invoice ID",
        "category": "Branch | City | Customer type | Gender | Product line | Payment",
        "date": "Date",
        "time": "Time",
        "constant": "gross margin percentage",
    },
    "selva86/datasets:Churn_Modelling.csv": {
        "row id": "RowNumber | CustomerId",
        "name": "Surname",
        "category": "Geography | Gender",
        "flag": "HasCrCard | IsActiveMember | Exited",
    },
    "selva86/datasets:orange_juice_withmissing.csv": {
        "category": "Purchase",
        "code": "StoreID | STORE",
        "flag": "SpecialCH | SpecialMM | Store7",
    },
    "selva86/datasets:orders_45d.csv": {"date": "purchase_time | purchase_date"},
    "selva86/datasets:Sacramento.csv": {"category": "city | zip | type"},
    "selva86/datasets:phone_transcripts.csv": {"row id": "ID", "category": "Recommend", "text": "Comments"},
    "jbrownlee/Datasets:horse-colic.csv": {
        "code": (
            "c1 | c2 | c3 | c7 | c8 | c9 | c10 | c11 | c12 | c13 | c14 | c15 | c17 | c18 | c21 | c23 | c24 | c28"
        ),
        "category": "c25 | c26 | c27",
    },
    "jbrownlee/Datasets:auto_imports.csv": {"category": "c3 | c4 | c5 | c6 | c7 | c8 | c9 | c15 | c16 | c18"},
    "jbrownlee/Datasets:breast-cancer.csv": {
        "range": "c1 | c3 | c4",
        "category": "c2 | c7 | c8 | c10",
        "flag": "c5 | c9",
        "code": "c6",
    },
    "jbrownlee/Datasets:mammography.csv": {"code": "c7"},
}
