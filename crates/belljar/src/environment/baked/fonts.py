"""Makes matplotlib's list of fonts in a jar without a network; it goes to /made."""

import os

os.environ["MPLCONFIGDIR"] = "/made"
__import__("matplotlib.font_manager")
