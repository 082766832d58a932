"""How the catalogue's tables came to be what they are, one file a step; applied by ``mauve_core.store.database``."""
