// The one place that makes nodes. Whatever is shown is text: there is no way from here to markup,
// to a style or to an address.

const allowed = /^(aria-[a-z]+|data-[a-z]+|class|id|type|for|name|title|role|tabindex|placeholder|rows|list|autocomplete|lang|dir|maxlength|min|max|scope|colspan)$/;
const properties = new Set(['value', 'checked', 'disabled', 'open', 'hidden', 'selected', 'spellcheck']);

// Controls, and what changes the order of the characters around it, are shown by their numbers.
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

export function visible(text) {
	return String(text).replace(/\r\n/g, '\n').replace(unseen, (c) => {
		const n = c.codePointAt(0);
		return n < 0x80 ? `\\x${n.toString(16).padStart(2, '0')}` : `\\u{${n.toString(16)}}`;
	});
}

// h makes an element: "tag.class.class", then, if there are any, its attributes, then its children.
export function h(what, ...rest) {
	const [tag, ...classes] = what.split('.');
	const el = document.createElement(tag);
	if (classes.length > 0) el.className = classes.join(' ');
	const first = rest[0];
	if (first && typeof first === 'object' && !(first instanceof Node) && !Array.isArray(first)) {
		rest.shift();
		for (const [name, value] of Object.entries(first)) set(el, name, value);
	}
	put(el, rest);
	return el;
}

function set(el, name, value) {
	if (typeof value === 'function' && name.startsWith('on')) el.addEventListener(name.slice(2), value);
	else if (value === undefined || value === null || value === false && !properties.has(name)) return;
	else if (properties.has(name)) el[name] = value;
	else if (allowed.test(name)) el.setAttribute(name, visible(value));
	else throw new Error(`node: the attribute ${name} is not set from here`);
}

function put(el, children) {
	for (const c of children) {
		if (Array.isArray(c)) put(el, c);
		else if (c instanceof Node) el.append(c);
		else if (c !== undefined && c !== null && c !== false && c !== '') el.append(visible(c));
	}
}

// fill replaces what is in an element.
export function fill(el, ...children) {
	refocus(el, () => {
		el.textContent = '';
		put(el, children);
		return el;
	});
}

// refocus keeps the focus, by its key, where an element is drawn again: draw gives the one that is
// there then.
export function refocus(el, draw) {
	const { dataset: { key }, selectionStart: at } = el.contains(document.activeElement) ? document.activeElement : { dataset: {} };
	const now = draw(), again = key && [now, ...now.querySelectorAll('[data-key]')].find((n) => n.dataset.key === key);
	if (!again) return;
	again.focus({ preventScroll: true });
	if (typeof at === 'number') again.setSelectionRange?.(at, at);
}

// show draws what is in an element when what it depends on has changed, and else leaves it alone: what
// is under a pointer is not taken away by news of something else.
export function show(el, on, make) {
	const now = JSON.stringify(on);
	if (el.on === now) return;
	el.on = now;
	fill(el, make());
}

// sync has an element hold these nodes, and moves none that is in its place.
export function sync(el, nodes) {
	nodes.forEach((n, i) => { if (el.childNodes[i] !== n) el.insertBefore(n, el.childNodes[i] || null); });
	while (el.childNodes.length > nodes.length) el.lastChild.remove();
}

// pre is text as it stands, in a box that may scroll: so the keyboard reaches it.
export const pre = (kind, label, ...text) => h(`pre.${kind}`, { tabindex: 0, role: 'group', 'aria-label': label }, text);

export const button = (label, act, more = {}) =>
	h('button', { type: 'button', 'data-key': label, ...more, onclick: act }, label);

// say reads a change of status out to who cannot see it.
export function say(text) {
	const at = document.getElementById('status');
	if (at.textContent !== text) at.textContent = visible(text);
}
