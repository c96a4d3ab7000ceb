"""Other programs that use MCP servers, and their settings files, into which alita's server is entered."""

from agent.hosts.clients import HOSTS, Host, ServerCommand, find_host, server_command
from agent.hosts.settings_file import Change, planned_entry, planned_removal, write

__all__ = [
    "HOSTS",
    "Change",
    "Host",
    "ServerCommand",
    "find_host",
    "planned_entry",
    "planned_removal",
    "server_command",
    "write",
]
