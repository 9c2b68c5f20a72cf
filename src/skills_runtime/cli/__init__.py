"""The command line: one module per noun, plain typer commands behind three names of one program."""
