"""Who may do what over HTTP: names, origins, a token, keys with scopes."""
