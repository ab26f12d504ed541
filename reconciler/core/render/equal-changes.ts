// Groups objects whose changes differ only in the object's name, so that a plan shows them once. Pure.

export interface ChangeText {
  readonly address: string;
  /** `+`, `~` ...: the beginning of the first line. */
  readonly head: string;
  /** The rest of the first line, such as ` (and start)`. */
  readonly title: string;
  readonly lines: readonly string[];
}

export interface Group extends Omit<ChangeText, 'address'> {
  /** In their order. */
  readonly addresses: readonly string[];
}

/** Smaller groups are easier to read one by one. */
const fewest = 5;

/** Each group takes the place of its first object. */
export function groupEqual<T extends ChangeText>(shown: readonly T[]): readonly (Omit<T, 'address'> & Group)[] {
  const kindOf = (address: string): string => address.slice(0, address.indexOf('/'));
  const keyOf = ({ address, head, title, lines }: ChangeText): string =>
    JSON.stringify([kindOf(address), head, title, lines]);
  const groups = new Map<string, T[]>();
  for (const one of shown) {
    const key = keyOf(one);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  const done = new Set<string>();
  return shown.flatMap((one) => {
    const { address, ...rest } = one;
    const members = groups.get(keyOf(one)) ?? [one];
    if (members.length < fewest) return [{ ...rest, addresses: [address] }];
    if (done.has(keyOf(one))) return [];
    done.add(keyOf(one));
    return [{ ...rest, addresses: members.map((member) => member.address) }];
  });
}

interface Run {
  readonly first: string;
  last: string;
  count: number;
  next: string | undefined;
}

/** `c1 ... c100, db`: every name is listed, numbered names as ranges. */
export function spellRanges(addresses: readonly string[]): string {
  const runs: Run[] = [];
  for (const address of addresses.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))) {
    const run = runs.at(-1);
    if (run !== undefined && run.next === address) {
      run.last = address;
      run.count += 1;
      run.next = successor(address);
    } else runs.push({ first: address, last: address, count: 1, next: successor(address) });
  }
  return runs
    .map(({ first, last, count }) => (count === 1 ? first : count === 2 ? `${first}, ${last}` : `${first} ... ${last}`))
    .join(', ');
}

/** `web-09` to `web-10`; undefined without a number in the name. */
function successor(address: string): string | undefined {
  const match = /^(.*?)([0-9]{1,9})([^0-9]*)$/.exec(address);
  if (match === null) return undefined;
  const [, before = '', digits = '', after = ''] = match;
  return `${before}${String(Number(digits) + 1).padStart(digits.length, '0')}${after}`;
}
