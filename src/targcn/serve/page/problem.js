// What goes wrong is said in the library's own sentence, with the nearest names to click.

import { wasCalledOff } from "./api.js";
import { button, h, named, put } from "./dom.js";

const SLOW = 400; // milliseconds until a place that is still empty shows that something is coming

// Does a task whose outcome is shown in an element; a suggestion that is clicked is chosen.
export async function trying(element, task, choose = null) {
	const timer = setTimeout(() => element.hasChildNodes() || element.append(skeleton()), SLOW);
	try {
		await task();
	} catch (problem) {
		if (!wasCalledOff(problem)) put(element, problemBox(problem, choose));
	} finally {
		clearTimeout(timer);
		element.querySelector(".skeleton")?.remove();
	}
}

export function problemBox({ message, suggestions = [] }, choose) {
	const text = message.charAt(0).toUpperCase() + message.slice(1);
	return h("div.problem", { role: "alert" }, h("p", /[.?!]$/.test(text) ? text : `${text}.`),
		choose && suggestions.length > 0 && h("p.tools", "Nearest: ", suggestions.map((name) => button(named(name), () => choose(name)))));
}

function skeleton() {
	return h("div.skeleton", { "aria-hidden": "true" }, Array.from({ length: 6 }, () => h("i")));
}
