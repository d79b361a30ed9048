"""What goes into a jar with a call: the function, its arguments, and the caller's own modules that they name.

`names` reads what code names, `modules` tells whose each module is, `closure` follows imports, `tree` packs source
files, `own` brings these together for one function; `plain` and `pickler` write what is sent, and `fingerprint` tells
whether it has changed since.
"""
