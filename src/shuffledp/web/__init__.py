"""A page on loopback that answers while sliders move, and the JSON API that it uses (extra ``web``)."""
