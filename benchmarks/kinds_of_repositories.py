"""The kinds of the columns of further public tables, written from their first rows.

The keys of `REPOSITORY_KEY` were written before `inspect` was run on the tables, those of `USERS_KEY` after that.
Each table is a file of a public repository, `owner/name:path`. All columns that are not listed are numbers. A `name` is
a category or an entity: which of the two depends on what it tells about a target.
"""

from __future__ import annotations

__all__ = ["REPOSITORY_KEY", "USERS_KEY"]

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
        "coordinates": "Lat/Long",
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
            "Intersection Street 2 | Landmark"
        ),
        "coordinates": "Location",
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
    "the-pudding/data:boybands/bands.csv": {
        "row id": "band | highest_song | highest_song_vid",
        "date": "highest_pos_date",
        "category": "danceSpeed",
        "flag": "featuring_artist",
    },
    "the-pudding/data:clutch/nba.csv": {"row id": "pid | bbrid | name"},
    "the-pudding/data:cetaceans/allCetaceanData.csv": {
        "left out": "",
        "category": "species | sex | accuracy | acquisition | status | transfer",
        "name": "id | name | originLocation | mother | father | transfers | currently | COD",
        "date": "originDate | statusDate | transferDate | entryDate",
        "constant": "region",
        "text": "notes",
    },
    "the-pudding/data:clinics/cities.csv": {"row id": "id", "name": "city", "category": "state"},
    "the-pudding/data:filmordigital/top_movies_data.csv": {
        "row id": "id | title",
        "name": "directors | genres | camera_format | negative_format",
        "category": "budget_source | film_type",
    },
    "the-pudding/data:dress-codes/sanctions.csv": {
        "name": "schoolName",
        "category": "state | sanction | offense",
    },
    "martj42/international_results:shootouts.csv": {
        "date": "date",
        "name": "home_team | away_team | winner | first_shooter",
    },
    "martj42/international_results:results.csv": {
        "date": "date",
        "name": "home_team | away_team | city | country | tournament",
        "flag": "neutral",
    },
    "logpai/loghub:Apache/Apache_2k.log_structured.csv": {
        "row id": "LineId",
        "date": "Time",
        "category": "Level | EventId | EventTemplate",
        "text": "Content",
    },
    "logpai/loghub:HPC/HPC_2k.log_structured.csv": {
        "row id": "LineId",
        "category": "Node | Component | State | EventId | EventTemplate",
        "code": "LogId | Flag",
        "text": "Content",
    },
    "logpai/loghub:OpenSSH/OpenSSH_2k.log_structured.csv": {
        "row id": "LineId",
        "constant": "Date | Day | Component",
        "time": "Time",
        "code": "Pid",
        "category": "EventId | EventTemplate",
        "text": "Content",
    },
    "logpai/loghub:Android/Android_2k.log_structured.csv": {
        "row id": "LineId",
        "constant": "Date",
        "time": "Time",
        "code": "Pid | Tid",
        "category": "Level | Component | EventId | EventTemplate",
        "text": "Content",
    },
    "logpai/loghub:HealthApp/HealthApp_2k.log_structured.csv": {
        "row id": "LineId",
        "date": "Time",
        "constant": "Pid",
        "category": "Component | EventId | EventTemplate",
        "name": "Content",
    },
    "jpatokal/openflights:data/airports.dat": {
        "row id": "c1 | c6",
        "name": "c2 | c3 | c4 | c5",
        "category": "c11 | c12",
        "constant": "c13 | c14",
    },
    "jpatokal/openflights:data/airlines.dat": {
        "row id": "c1",
        "name": "c2 | c3 | c4 | c5 | c6 | c7",
        "flag": "c8",
    },
    "jpatokal/openflights:data/planes.dat": {"row id": "c1", "name": "c2 | c3"},
    "propublica/compas-analysis:compas-scores-two-years.csv": {
        "row id": "id | c_case_number | r_case_number | vr_case_number",
        "name": "name | first | last | c_charge_desc | r_charge_desc | vr_charge_desc",
        "date": (
            "compas_screening_date | dob | c_jail_in | c_jail_out | c_offense_date | c_arrest_date | r_offense_date | "
            "r_jail_in | r_jail_out | vr_offense_date | screening_date | v_screening_date | in_custody | out_custody"
        ),
        "category": (
            "sex | race | c_charge_degree | r_charge_degree | vr_charge_degree | score_text | v_score_text"
        ),
        "range": "age_cat",
        "flag": "is_recid | is_violent_recid | event | two_year_recid",
        "empty": "violent_recid",
        "constant": "type_of_assessment | v_type_of_assessment",
    },
    "pcm-dpc/COVID-19:dati-province/dpc-covid19-ita-province-20200513.csv": {
        "constant": "data | stato",
        "code": "codice_regione",
        "row id": "codice_provincia | sigla_provincia",
        "name": "denominazione_regione | denominazione_provincia",
        "empty": "note",
    },
    "pcm-dpc/COVID-19:dati-contratti-dpc-forniture/dpc-covid19-dati-contratti-dpc-forniture.csv": {
        "name": (
            "fornitore | fornitura | protocollo_atto_negoziale | file_atto_negoziale | "
            "protocollo_integrazione_rettifica | file_integrazione_rettifica | cig"
        ),
        "category": (
            "stato_fornitore | gruppo_articoli | sottogruppo_articoli | categoria | sottocategoria | "
            "tipologia_fornitura | integrazione_rettifica | tipologia_cig"
        ),
        "date": "data_atto_negoziale | data_integrazione_rettifica",
        "constant": "stato_contratto | data_aggiornamento",
        "flag": "ceduti_commissario_straordinario",
        "empty": "note",
    },
    "pcm-dpc/COVID-19:note/dpc-covid19-ita-note.csv": {"date": "data", "text": "note"},
    "datasets/s-and-p-500-companies:data/constituents.csv": {
        "row id": "Symbol | Security",
        "category": "GICS Sector | GICS Sub-Industry",
        "name": "Headquarters Location",
        "date": "Date added",
        "code": "CIK",
    },
    "footballcsv/england:2020s/2020-21/eng.5.csv": {"date": "Date", "name": "Team 1 | Team 2 | FT"},
    "chadwickbureau/baseballdatabank:core/People.csv": {
        "row id": "playerID | bbrefID | retroID",
        "name": (
            "birthCountry | birthState | birthCity | deathCountry | deathState | deathCity | nameFirst | nameLast | "
            "nameGiven"
        ),
        "category": "bats | throws",
        "date": "debut | finalGame",
    },
    "chadwickbureau/baseballdatabank:core/HallOfFame.csv": {
        "name": "playerID",
        "category": "votedBy | category | needed_note",
        "flag": "inducted",
    },
    "chadwickbureau/baseballdatabank:core/Teams.csv": {
        "category": "lgID | divID",
        "name": "teamID | franchID | name | park | teamIDBR | teamIDlahman45 | teamIDretro",
        "flag": "DivWin | WCWin | LgWin | WSWin",
    },
    "JeffSackmann/tennis_atp:atp_matches_1991.csv": {
        "name": "tourney_id | tourney_name | winner_name | winner_ioc | loser_name | loser_ioc | score",
        "category": "surface | tourney_level | winner_entry | winner_hand | loser_entry | loser_hand | round",
        "date": "tourney_date",
        "code": "winner_id | loser_id | match_num",
    },
    "jfjelstul/worldcup:data-csv/matches.csv": {
        "row id": "key_id | match_id",
        "name": (
            "tournament_id | tournament_name | match_name | stadium_id | stadium_name | city_name | country_name | "
            "home_team_id | home_team_name | home_team_code | away_team_id | away_team_name | away_team_code | score | "
            "score_penalties"
        ),
        "category": "stage_name | group_name | result",
        "flag": (
            "group_stage | knockout_stage | replayed | replay | extra_time | penalty_shootout | home_team_win | "
            "away_team_win | draw"
        ),
        "date": "match_date",
        "time": "match_time",
    },
    "jfjelstul/worldcup:data-csv/bookings.csv": {
        "row id": "key_id | booking_id",
        "name": (
            "tournament_id | tournament_name | match_id | match_name | team_id | team_name | team_code | player_id | "
            "family_name | given_name"
        ),
        "category": "stage_name | group_name | match_period",
        "flag": "home_team | away_team | yellow_card | red_card | second_yellow_card | sending_off",
        "date": "match_date",
    },
    "jfjelstul/worldcup:data-csv/stadiums.csv": {
        "row id": "key_id | stadium_id",
        "name": "stadium_name | city_name | country_name | stadium_wikipedia_link | city_wikipedia_link",
    },
    "curran/data:Interest Group Spending 2000-2016.csv": {
        "name": "Interest Group",
        "percent": "Dem % | GOP %",
    },
    "curran/data:Rdatasets/csv/COUNT/azpro.csv": {
        "left out": "",
        "flag": "procedure | sex | age75 | admit",
    },
    "curran/data:Rdatasets/csv/COUNT/medpar.csv": {
        "left out": "",
        "flag": "hmo | white | died | age80 | type1 | type2 | type3",
        "code": "type",
        "category": "provnum",
    },
    "dsrscientist/dataset1:service_dataset.csv": {
        "row id": "Unique Key",
        "date": "Created Date | Closed Date",
        "name": (
            "Agency | Agency Name | Complaint Type | Descriptor | Location Type | Incident Address | Street Name | "
            "Cross Street 1 | Cross Street 2 | Intersection Street 1 | Intersection Street 2 | Address Type | City"
        ),
        "code": "Incident Zip",
    },
    "dsrscientist/dataset1:train_datamart.csv": {
        "name": "Item_Identifier",
        "category": (
            "Item_Fat_Content | Item_Type | Outlet_Identifier | Outlet_Size | Outlet_Location_Type | Outlet_Type"
        ),
    },
    "dsrscientist/dataset3:weatherAUS.csv": {
        "date": "Date",
        "category": "Location | WindGustDir | WindDir9am | WindDir3pm",
        "flag": "RainToday | RainTomorrow",
    },
    "dsrscientist/dataset3:bank_marketing.csv": {
        "category": "job | marital | education | contact | month | poutcome",
        "flag": "default | housing | loan | deposit",
    },
    "dsrscientist/dataset3:global_Power_plant_database.csv": {
        "constant": "country | country_long | other_fuel2 | year_of_capacity_data | generation_data_source",
        "row id": "name | gppd_idnr",
        "category": "primary_fuel | other_fuel1 | geolocation_source",
        "name": "owner | source | url",
        "empty": "other_fuel3 | wepp_id | estimated_generation_gwh",
    },
    "nychealth/coronavirus-data:totals/data-by-modzcta.csv": {
        "row id": "MODIFIED_ZCTA",
        "name": "NEIGHBORHOOD_NAME | label",
        "category": "BOROUGH_GROUP",
    },
    "nychealth/coronavirus-data:trends/cases-by-day.csv": {"date": "date_of_interest"},
    "justmarkham/pandas-videos:data/chipotle.tsv": {
        "code": "order_id",
        "category": "item_name",
        "name": "choice_description",
        "money": "item_price",
    },
    "justmarkham/pandas-videos:data/imdb_1000.csv": {
        "name": "title | actors_list",
        "category": "content_rating | genre",
    },
    "justmarkham/pandas-videos:data/ufo.csv": {
        "name": "City",
        "category": "Colors Reported | Shape Reported | State",
        "date": "Time",
    },
    "lukes/ISO-3166-Countries-with-Regional-Codes:all/all.csv": {
        "row id": "name | alpha-2 | alpha-3 | country-code | iso_3166-2",
        "category": (
            "region | sub-region | intermediate-region | region-code | sub-region-code | intermediate-region-code"
        ),
    },
    "IBM/telco-customer-churn-on-icp4d:data/Telco-Customer-Churn.csv": {
        "row id": "customerID",
        "flag": "SeniorCitizen | Partner | Dependents | PhoneService | PaperlessBilling | Churn",
        "category": (
            "gender | MultipleLines | InternetService | OnlineSecurity | OnlineBackup | DeviceProtection | "
            "TechSupport | StreamingTV | StreamingMovies | Contract | PaymentMethod"
        ),
    },
    "ageron/handson-ml2:datasets/lifesat/oecd_bli_2015.csv": {
        "category": "LOCATION | Country | INDICATOR | Indicator | INEQUALITY | Inequality | Unit Code | Unit",
        "constant": "MEASURE | Measure | PowerCode Code | PowerCode | Flag Codes | Flags",
        "empty": "Reference Period Code | Reference Period",
    },
    "veekun/pokedex:pokedex/data/csv/pokemon.csv": {
        "row id": "id | identifier | order",
        "code": "species_id",
        "flag": "is_default",
    },
    "veekun/pokedex:pokedex/data/csv/moves.csv": {
        "row id": "id | identifier",
        "code": (
            "generation_id | type_id | target_id | damage_class_id | effect_id | contest_type_id | contest_effect_id | "
            "super_contest_effect_id"
        ),
    },
    "Opensourcefordatascience/Data-sets:automotive_data.csv": {
        "category": (
            "make | fuel-type | aspiration | num-of-doors | body-style | drive-wheels | engine-location | "
            "engine-type | num-of-cylinders | fuel-system"
        )
    },
    "amankharwal/Website-data:Billionaire.csv": {
        "row id": "Name",
        "money": "NetWorth",
        "category": "Country | Industry",
        "name": "Source",
    },
    "amankharwal/Website-data:dailyActivity_merged.csv": {"code": "Id", "date": "ActivityDate"},
    "amankharwal/Website-data:amazon_alexa.tsv": {
        "date": "date",
        "category": "variation",
        "text": "verified_reviews",
        "flag": "feedback",
    },
    "amankharwal/Website-data:Florida_Subsidence_Incident_Reports.csv": {
        "row id": "OBJECTID | REF_NUM",
        "date": "DATE_REV | EVENT_DATE",
        "category": (
            "TRUE_SINK | COUNTY | TWNSHP_D | RANGE_D | QTRSECT1 | QTRSECT2 | ACCURACY | SIZDIM | SINSHAPE | WATSIN | "
            "LIMVIS | CAVVIS | SUBRATE | PROPDAM | REPAIR_S | DRAINSTR"
        ),
        "name": "RPT_SOURCE | RPT_NAME | OCITY | SOILTYPE | ACCESS_",
        "code": "OZIP",
        "text": "COMMENTS | COMMENTS_2",
    },
    "amankharwal/Website-data:IPL 2022.csv": {
        "row id": "match_id",
        "date": "date",
        "category": "venue | team1 | team2 | toss_winner | toss_decision | match_winner | won_by",
        "constant": "stage",
        "name": "player_of_the_match | top_scorer | best_bowling | best_bowling_figure",
    },
    "amankharwal/Website-data:MoviesOnStreamingPlatforms_updated.csv": {
        "left out": "",
        "row id": "ID | Title",
        "range": "Age",
        "percent": "Rotten Tomatoes",
        "flag": "Netflix | Hulu | Prime Video | Disney+",
        "constant": "Type",
        "name": "Directors | Genres | Country | Language",
    },
    "amankharwal/Website-data:TravelInsurancePrediction.csv": {
        "left out": "",
        "category": "Employment Type",
        "flag": "GraduateOrNot | ChronicDiseases | FrequentFlyer | EverTravelledAbroad | TravelInsurance",
    },
    "dphi-official/Datasets:Bengaluru_House_Data.csv": {
        "category": "area_type | availability | size",
        "name": "location | society",
    },
    "dphi-official/Datasets:HR_analysis.csv": {
        "flag": "Work_accident | promotion_last_5years | left",
        "category": "salary",
    },
    "dphi-official/Datasets:IT_Salary_Survey_EU_18-20/Survey_2020.csv": {
        "date": "Timestamp",
        "category": (
            "Gender | City | Seniority level | Employment status | Сontract duration | Main language at work | "
            "Company type | Have you lost your job due to the coronavirus outbreak?"
        ),
        "range": "Company size",
        "name": (
            "Position | Your main technology / programming language | "
            "Other technologies/programming languages you use often"
        ),
    },
    "dphi-official/Datasets:Amazon Top 50 Bestselling Books 2009 - 2019.csv": {
        "name": "Name | Author",
        "category": "Genre",
    },
    "dphi-official/Datasets:Loan_Data/loan_train.csv": {
        "left out": "",
        "row id": "Loan_ID",
        "category": "Gender | Education | Property_Area",
        "range": "Dependents",
        "flag": "Married | Self_Employed | Credit_History | Loan_Status",
    },
    "gagolews/teaching-data:marek/37_pzu_warsaw_marathon.csv": {
        "category": "sex | country | category",
        "duration": "time | net_time | 5km | 10km | 15km | 20km | 21km | 25km | 30km | 35km | 40km",
    },
    "datasets/nasdaq-listings:data/nasdaq-listed-symbols.csv": {
        "row id": "Symbol | Security Name",
        "name": "Company Name",
        "category": "Market Category | Financial Status",
        "constant": "NextShares",
        "flag": "Test Issue | ETF",
    },
}

USERS_KEY: dict[str, dict[str, str]] = {
    "justmarkham/DAT8:data/airlines.csv": {"row id": "airline"},
    "justmarkham/DAT8:data/bank-additional.csv": {
        "category": "job | marital | education | default | housing | loan | contact | month | day_of_week | poutcome",
        "flag": "y",
    },
    "justmarkham/DAT8:data/bikeshare.csv": {
        "date": "datetime",
        "flag": "holiday | workingday",
        "code": "season | weather",
    },
    "justmarkham/DAT8:data/chipotle.tsv": {
        "code": "order_id",
        "category": "item_name",
        "name": "choice_description",
        "money": "item_price",
    },
    "justmarkham/DAT8:data/hitters.csv": {"category": "League | Division | NewLeague"},
    "justmarkham/DAT8:data/imdb_1000.csv": {
        "name": "title | actors_list",
        "category": "content_rating | genre",
    },
    "stedy/Machine-Learning-with-R-datasets:credit.csv": {
        "category": "checking_balance | credit_history | purpose | savings_balance | personal_status | other_debtors | "
        "property | installment_plan | housing | telephone | job",
        "range": "employment_length",
        "code": "default",
        "flag": "foreign_worker",
    },
    "stedy/Machine-Learning-with-R-datasets:usedcars.csv": {"category": "model | color | transmission"},
    "stedy/Machine-Learning-with-R-datasets:insurance.csv": {"category": "sex | region", "flag": "smoker"},
    "wireservice/csvkit:examples/realdata/ks_1033_data.csv": {
        "constant": "state",
        "name": "county | nsn | item_name | federal_supply_class_name",
        "category": "ui | federal_supply_category_name",
        "code": "fips | federal_supply_category | federal_supply_class",
        "date": "ship_date",
    },
    "wireservice/csvkit:examples/realdata/FY09_EDU_Recipients_by_State.csv": {
        "row id": "State Name | State Abbreviate | Code",
        "empty": "c10",
    },
    "ali-ce/datasets:Drone-Strike-Tracker/Victims.csv": {
        "row id": "ID | Profile | image",
        "name": "Name | Strike | More information on nationality | Place of origin | Tribe",
        "date": "Date of Death",
        "constant": "Case Study?",
        "category": "Male, Female or Child? | Civilian or Militant? | Nationality | Militant Affiliation | "
        "Possible Nationality (if Unknown Status) | Military Rank / Civilian Occupation",
        "range": "Age",
        "money": "Reward",
    },
    "ali-ce/datasets:EPA-Violations/Facilities.csv": {
        "name": "Facility | Address | Owner / Operator of Facility",
        "empty": "Duplicates note",
        "category": "State | Clean Air Act Compliance | Clean Water Act Compliance | "
        "Resource Conservation and Recovery Act Compliance | Safe Drinking Water Act Compliance",
        "coordinates": "Coordinates",
        "money": "Total Penalties | Last Penalty Amount",
        "flag": "Significant Noncompliance",
    },
    "ali-ce/datasets:Hacker-Conferences/Events.csv": {
        "row id": "Conferences",
        "name": "Homepage | City for 2015 | Country for 2015 | Image",
        "text": "Description | Tagline",
        "date": "2015 Dates",
        "category": "Type | Month Usually Held In",
    },
    "ali-ce/datasets:Biggest-Data-Breaches/Data Breaches.csv": {
        "name": "ID | Entity | Sources Link | Sources name",
        "text": "Description",
        "category": "Target Organization Type | Method of Leak | Data Sensitivity",
    },
    "ali-ce/datasets:Cryptocurrencies/Currencies and Assets.csv": {
        "row id": "Name | Image | Profile",
        "category": "Type | Status | Platform",
        "name": "Symbol | More Information",
        "money": "Market Capitalization | Price | Volume (17 Oct. '14)",
    },
    "apache-superset/examples-data:birth_france_data_for_country_map.csv": {"row id": "DEPT_ID"},
    "apache-superset/examples-data:datasets/examples/sales.csv": {
        "date": "order_date",
        "category": "status | product_line | product_code | state | country | territory | deal_size",
        "name": "customer_name | address_line1 | address_line2 | city | phone | postal_code | contact_last_name | "
        "contact_first_name",
    },
    "apache-superset/examples-data:datasets/examples/video_game_sales.csv": {
        "row id": "rank",
        "name": "name",
        "category": "platform | genre | publisher",
    },
    "apache-superset/examples-data:tutorial_flights.csv": {
        "category": "Department | Travel Class | Ticket Single or Return | Airline | Origin ICAO | Origin Name | "
        "Origin Municipality | Origin Region | Origin Country | Destination ICAO | Destination Name | "
        "Destination Region | Destination Country",
        "date": "Travel Date",
    },
    "jldbc/coffee-quality-database:data/robusta_data_cleaned.csv": {
        "left out": "",
        "constant": "Species | Quakers | unit_of_measurement",
        "name": "Owner | Farm.Name | Lot.Number | Mill | ICO.Number | Company | Region | Producer | Owner.1",
        "category": "Country.of.Origin | In.Country.Partner | Variety | Processing.Method | Color | "
        "Certification.Body | Certification.Address | Certification.Contact",
        "range": "Altitude",
        "date": "Grading.Date | Expiration",
    },
    "chendaniely/pandas_for_everyone:data/banklist.csv": {
        "name": "Bank Name | City | Acquiring Institution",
        "category": "ST",
        "date": "Closing Date | Updated Date",
    },
    "chendaniely/pandas_for_everyone:data/acs_ny.csv": {
        "range": "Acres | YearBuilt",
        "category": "FamilyType | NumUnits | OwnRent | HeatingFuel | Language",
        "flag": "FoodStamp",
    },
    "TheEconomist/big-mac-data:source-data/big-mac-source-data-v2.csv": {
        "category": "name | iso_a3 | currency_code",
        "date": "date",
    },
}
