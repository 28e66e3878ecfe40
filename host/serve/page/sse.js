// Server-sent events over fetch, since EventSource sends no credential.
import { onSession, open, signedIn } from './api.js';

const least = 250, most = 10_000; // milliseconds between two tries
const quiet = 40_000; // the server writes a comment every 15 s: after this the connection is dead

// Parser takes text as it comes, cut anywhere, and gives the events that are whole. The lines are
// those of this server: each ends with one newline, and data is one line.
export class Parser {
	#rest = '';

	feed(text) {
		const whole = (this.#rest + text).split('\n\n');
		this.#rest = whole.pop();
		return whole.map((lines) => Object.fromEntries(lines.split('\n').map((l) => l.split(/: (.*)/s)))).filter((e) => e.data);
	}
}

// Stream keeps a stream going until it is stopped or has its end. cursor gives the place behind
// which it begins; event gets each line and returns false to begin again; state hears how it stands:
// connecting, live, offline (with the time of the next try), over, ended, refused (with the problem).
export class Stream {
	#stop = new AbortController();
	#wake = () => {};
	#tries = 0;

	constructor(path, { cursor, event, state }) {
		Object.assign(this, { path, cursor, event, state });
		onSession(() => this.retry());
		this.#run();
	}

	stop() { this.#stop.abort(); this.#wake(); }
	retry() { this.#wake(); }

	async #run() {
		const gone = this.#stop.signal;
		while (!gone.aborted) {
			if (!signedIn()) {
				this.state('over');
				await new Promise((done) => { this.#wake = done; });
				continue;
			}
			this.state('connecting');
			let problem;
			try {
				if (await this.#once(gone) === 'ended') return this.state('ended');
			} catch (e) {
				problem = e;
			}
			if (gone.aborted) return;
			if ([400, 403, 404, 409, 421].includes(problem?.status)) return this.state('refused', problem);
			if (problem?.status === 401) continue;
			await this.#wait();
		}
	}

	async #wait() {
		const ms = Math.min(most, least * 2 ** this.#tries++) * (0.8 + Math.random() * 0.2);
		this.state('offline', { at: Date.now() + ms });
		await new Promise((done) => {
			this.#wake = done;
			setTimeout(done, ms);
		});
	}

	async #once(gone) {
		const cut = new AbortController();
		const signal = AbortSignal.any([gone, cut.signal]);
		let timer = setTimeout(() => cut.abort(), quiet);
		try {
			const last = this.cursor?.();
			const answer = await open('GET', this.path, { signal, headers: last ? { 'Last-Event-ID': last } : {} });
			if (answer.status === 204) return 'ended';
			this.state('live');
			const parser = new Parser(), text = new TextDecoder(), body = answer.body.getReader();
			for (;;) {
				const { value, done } = await body.read();
				clearTimeout(timer);
				timer = setTimeout(() => cut.abort(), quiet);
				for (const e of parser.feed(done ? text.decode() : text.decode(value, { stream: true }))) {
					if (gone.aborted) return undefined;
					this.#tries = 0;
					const line = JSON.parse(e.data);
					if (this.event(line, e.id) === false) return undefined;
					if (e.event === 'run.outcome') return 'ended';
				}
				if (done) return undefined;
			}
		} finally {
			clearTimeout(timer);
			cut.abort();
		}
	}
}
