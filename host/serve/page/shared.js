// One list stream for all tabs of a browser: the tab that has the lock reads it and tells the others.
import { Stream } from './sse.js';
import { statusText, prompt } from './words.js';

const key = 'agent.notify';
export const notifying = () => localStorage.getItem(key) === 'on' && globalThis.Notification?.permission === 'granted';

// askNotify has the browser ask the person; it says in words why nothing comes of it.
export async function askNotify() {
	if (notifying()) {
		localStorage.removeItem(key);
		return 'Notifications are off.';
	}
	if (!globalThis.Notification) return 'This browser has no notifications.';
	if (await Notification.requestPermission() !== 'granted') return 'The browser does not allow notifications for this page; its address bar has the switch.';
	localStorage.setItem(key, 'on');
	return 'A notification comes when a run waits or ends while you look elsewhere.';
}

export class Shared {
	#channel = new BroadcastChannel('agent.list');
	#seen = new Map();
	#how = 'connecting';

	// changed gets runs as they are now, reload says that the list is to be read again, state how the
	// stream stands.
	constructor(hear) {
		this.hear = hear;
		this.#channel.onmessage = (e) => this.#take(e.data);
		this.#channel.postMessage({ ask: true });
		navigator.locks.request('agent.list', () => {
			this.leader = true;
			this.stream = new Stream('/v1/events', {
				event: (line) => this.#tell({ type: line.type, data: line.data }),
				state: (how, more) => {
					this.#tell({ how, at: more?.at, why: more?.message });
					if (how === 'live') this.#tell({ reload: true });
				},
			});
			return new Promise(() => {}); // until the tab is gone
		});
	}

	retry() {
		if (this.leader) this.stream.retry();
		else this.#channel.postMessage({ retry: true });
	}

	#tell(m) {
		this.#channel.postMessage(m);
		this.#take(m);
	}

	#take(m) {
		if (m.retry || m.ask) {
			if (this.leader && m.retry) this.stream.retry();
			if (this.leader && m.ask) this.#channel.postMessage({ how: this.#how });
		} else if (m.how) {
			this.#how = m.how;
			this.hear.state(m.how, m);
		} else if (m.reload) this.hear.reload();
		else if (m.type === 'server.state') this.hear.server(m.data);
		else if (m.type === 'runs.changed') {
			if (this.leader) for (const run of m.data.runs) this.#notify(run);
			this.hear.changed(m.data.runs);
		}
	}

	#notify(run) {
		const before = this.#seen.get(run.id);
		this.#seen.set(run.id, run.status);
		if (before === run.status || !['waiting', 'failed', 'completed', 'interrupted'].includes(run.status)) return;
		if (!notifying() || document.visibilityState === 'visible') return;
		const n = new Notification(`${statusText(run)}: ${prompt(run.prompt)}`, { tag: run.id, body: run.pending_request?.message || run.folder });
		n.onclick = () => {
			focus();
			location.hash = `#${run.id}`;
		};
	}
}
