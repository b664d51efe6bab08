"""Where the accepted run is kept: one module a store, chosen in `stores`."""
