// Shell functions that the scripts of checks share.

export const api = 'curl -sS --unix-socket /var/lib/gantry/unix.socket';

/** Defines `operation METHOD PATH BODY`, which waits for the end of an operation and prints it. */
export const operations = `operation() {
  url=$(${api} -X "$1" -H 'Content-Type: application/json' -d "$3" "http://gantryd$2" | grep -o '"operation":"[^"]*"' | cut -d'"' -f4)
  ${api} "http://gantryd$url/wait"
}`;

/** Applies the documents as a set of that name; `flags` come first, such as those of another host. */
export const apply = (set: string, documents: string, flags = ''): string =>
  `cat >/var/tmp/${set}.yaml <<'END'\n${documents}\nEND\ngantry apply ${flags} -f /var/tmp/${set}.yaml --set ${set} --auto-approve`;

export const destroy = (set: string): string =>
  `gantry destroy -f /var/tmp/${set}.yaml --set ${set} --auto-approve >/dev/null; rm /var/tmp/${set}.yaml`;

/** A container of the quickstart's image and profile with more lines of its document. */
export const container = (name: string, lines = '', image = 'quick/busybox'): string =>
  `kind: container\nname: ${name}\nprofiles: [quick]\nsource: { type: image, alias: ${image} }\n${lines}`;

/** Prints the host's process id of a running container's init. */
export const initPid = (name: string): string =>
  `${api} http://gantryd/1.0/containers/${name}/state | grep -o '"pid":[0-9]*' | cut -d: -f2`;

/** Waits until the daemon answers; curl starts faster here than gantry. */
export const answers = `until ${api} -f -o /dev/null http://gantryd/1.0 2>/dev/null; do sleep 0.2; done`;

/** Prints each running container (at least one) with its process id, which changes at a restart. */
export const containerPids = `${api} 'http://gantryd/1.0/containers?recursion=2' | node -e '
  const { metadata } = JSON.parse(require("node:fs").readFileSync(0));
  for (const { name, state } of metadata) if (state.pid > 0) console.log(name, state.pid)' | sort | grep .`;
