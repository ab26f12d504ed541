// Names that gantry and the server accept, made of names that compose accepts; two names never become one. Pure.

/** Gives each compose name its own name here, always the same one. */
export class Names {
  readonly #made = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #longest: number;
  readonly #shortest: number;

  constructor(longest: number, shortest = 1) {
    this.#longest = longest;
    this.#shortest = shortest;
  }

  of(name: string): string {
    const known = this.#made.get(name);
    if (known !== undefined) return known;
    const plain = plainName(name).padEnd(this.#shortest, '0');
    const made = this.#free(plain);
    this.#made.set(name, made);
    this.#taken.add(made);
    return made;
  }

  #free(plain: string): string {
    for (let count = 1; ; count++) {
      const end = count === 1 ? '' : `-${count}`;
      const name = `${plain.slice(0, this.#longest - end.length).replace(/-+$/, '')}${end}`;
      if (!this.#taken.has(name)) return name;
    }
  }
}

/** Letters, digits and dashes, with a letter first: names of containers are host names. */
function plainName(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9-]/g, '-').replaceAll(/^-+|-+$/g, '');
  return /^[A-Za-z]/.test(plain) ? plain : `c${plain}`;
}
