"""A client with python-socketio: connects, sends a message, and prints every event as a line of JSON until the agent
waits for input again. Arguments: URL, conversation, API key, transport, message."""

import json
import sys
import threading
import time

import socketio

url, conversation, key, transport, message = sys.argv[1:6]
client = socketio.Client(reconnection=False)
printing = threading.Lock()
state = {"sent": False, "answered": False, "done": False}


@client.on("oh_event")
def on_event(event):
    # Handlers run in threads of their own.
    with printing:
        print(json.dumps(event), flush=True)
    extras = event.get("extras") or {}
    if event.get("source") == "agent" and event.get("action") == "message" and state["sent"]:
        state["answered"] = True
    if extras.get("agent_state") != "awaiting_user_input":
        return
    if not state["sent"]:
        state["sent"] = True
        client.emit("oh_user_action", {"action": "message", "args": {"content": message, "image_urls": []}})
    elif state["answered"]:
        state["done"] = True


query = f"conversation_id={conversation}&latest_event_id=-1&session_api_key={key}&providers_set="
client.connect(f"{url}?{query}", transports=[transport])
deadline = time.monotonic() + 60
while not state["done"] and time.monotonic() < deadline:
    time.sleep(0.05)
client.disconnect()
sys.exit(0 if state["done"] else 1)
