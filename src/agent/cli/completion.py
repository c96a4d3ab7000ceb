from agent.cli import options

app = options.new_app("x")
