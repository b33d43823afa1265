"""Bytes of mail to tokens.

    bytes -> `structure`            headers, parts and defects, with every count capped
             `transfer_encodings`   bodies without base64 and quoted-printable, from one canonical form
             `charsets`             text, whatever charset is declared, or none (`charset_guess`)
             `tokens`               {token: count}, from `headers` (`senders` compared), `html` and `web`; words are
                                    split by `_words`, and `letters` stand for those that look alike
             `correspondents`       tokens of people one has written to

Of a page of HTML, `visibility` says what is seen, by the `styles` and `sheets`, `tags` what the tags tell, and
`entities` are decoded.
`attachments` are read for their text; `armour` and `binary` are what is no text. Parsers never get the original
message: deep nesting can crash one, and they treat defects differently.
`limits` holds the caps. `transformer` is the one for River's pipelines, and `transformer_codec` saves it.
"""
