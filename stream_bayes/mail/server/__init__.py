"""The servers of a filter: its own protocol over a socket, and those of mail systems.

`filter_service` judges and learns for many threads; `server` answers over sockets (`listeners`), in the protocols of
`spamd`, `milter` and `web_api`. `callers` are the programs at the other end. For the HTTP service, `page_mails` is a
filter's directory, and learns mails from the page.
"""
