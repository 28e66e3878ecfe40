// What a person says to the model of a run that goes on. What is typed is kept until the server has it.
import { post } from './api.js';
import { sendForm } from './form.js';
import { button, fill, h, say } from './node.js';

// tellForm is the form of one run.
export function tellForm(run) {
	const place = `agent.tell.${run}`;
	const said = h('div', { role: 'alert' });
	const label = 'Message for the model, which gets it with its next request';
	const area = h('textarea', { rows: 2, 'aria-label': label, placeholder: label, 'data-key': 'tell', spellcheck: true, value: localStorage.getItem(place) || '' });
	const send = button('Tell the model', () => submit());
	area.addEventListener('input', () => localStorage.setItem(place, area.value));
	async function submit() {
		const message = area.value;
		if (!message.trim()) area.focus();
		if (!message.trim() || send.disabled) return;
		send.disabled = true;
		fill(said, h('p.quiet', 'Sending…'));
		try {
			const told = await post(`/v1/runs/${run}/tell`, { message });
			if (area.value === message) area.value = ''; // else more was typed meanwhile
			localStorage.setItem(place, area.value);
			fill(said, h('p.quiet', told.driven ? 'The model gets it with its next request.' : 'It is kept; the model gets it when the run goes on.'));
			say('The message is kept.');
		} catch (e) {
			fill(said, h('p.note.warn', e.message, ' Your text is kept.'), e.next.map((n) => h('p', h('code', n))));
			say(e.message);
		} finally {
			send.disabled = false;
		}
	}
	return sendForm(submit, send, area, said);
}
