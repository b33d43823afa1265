"""Bytes of mail to tokens.

    bytes -> scanning    headers, parts and defects, with every count capped
             parsing     bodies without base64 and quoted-printable, from one canonical form
             charsets    text, whatever charset is declared
             tokens      {token: count}, from `headers`, `html` and `web`; words are split by `_words`

No parser sees a message as it came: deep nesting can crash one, and each has its own view of defects. `limits` holds
the caps, and `transformer` is the one for River's pipelines.
"""
