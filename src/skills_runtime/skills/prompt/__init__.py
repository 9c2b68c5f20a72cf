"""The parts that a prompt is put together from."""
