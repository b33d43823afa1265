"""Bytes of mail to tokens.

    bytes -> structure            headers, parts and defects, with every count capped
             transfer_encodings   bodies without base64 and quoted-printable, from one canonical form
             charsets             text, whatever charset is declared
             tokens               {token: count}, from `headers`, `html` (of which `visibility` says what is seen, and
                                  `tags` what the tags tell) and `web`; words are split by `_words`
             correspondents       tokens of people one has written to

Parsers never get the original message: deep nesting can crash one, and they treat defects differently. `limits` holds
the caps, and `transformer` is the one for River's pipelines.
"""
