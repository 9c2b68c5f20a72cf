"""Skills in a run: discovery, mentions, activation, execution, permissions and reloading."""
