// Texts as header fields of HTTP/2 have them compressed: the fixed Huffman code of RFC 7541, appendix B. Reads it only.

/** How many bits each byte takes, and last the mark of the end: `a` is 5. Shorter codes come first, equally long ones by byte. */
const lengths =
  'isxxxxxxxtzxxzxxxxxxxxzxxxxxxxxxbffhibdgffdgdbbbaaabbbbbbbcdkbhfibccccccccccccccccccccccdcdioijbkabababbbaccbbbabcbaabccccckgjix' +
  'prpprrrsrssssststtrstssssqrsrsstrqprrssqsrrtqrssqqrqsrssprrrsrrsvvporsruvvvwwvtuoqvwwvwtqqvvxwwwptpqrqqsrruuttvsvwvvwwwwwxwwwwwvz';
const shortest = 5;
const longest = 30;
const endMark = 256;

interface Code {
  /** The first code of each length, the next one after its last, and where its symbols begin in `symbols`. */
  readonly first: readonly number[];
  readonly after: readonly number[];
  readonly start: readonly number[];
  readonly symbols: readonly number[];
}

let known: Code | undefined;

function makeCode(): Code {
  const [first, after, start, symbols]: [number[], number[], number[], number[]] = [[], [], [], []];
  let code = 0;
  for (let length = 0; length <= longest; length += 1) {
    code *= 2;
    first.push(code);
    start.push(symbols.length);
    for (let symbol = 0; symbol < lengths.length; symbol += 1) {
      if (lengths.charCodeAt(symbol) - 97 + shortest === length) symbols.push(symbol);
    }
    code += symbols.length - (start[length] ?? 0);
    after.push(code);
  }
  return { first, after, start, symbols };
}

/** One byte a character; undefined for bytes that are no such text. */
export function readHuffman(bytes: Uint8Array): string | undefined {
  const { first, after, start, symbols } = (known ??= makeCode());
  let text = '';
  let [code, length] = [0, 0];
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit -= 1) {
      code = code * 2 + ((byte >> bit) & 1);
      length += 1;
      if (code >= (after[length] ?? 0)) {
        if (length === longest) return undefined;
        continue;
      }
      const symbol = symbols[(start[length] ?? 0) + code - (first[length] ?? 0)] ?? endMark;
      if (symbol === endMark) return undefined;
      text += String.fromCharCode(symbol);
      [code, length] = [0, 0];
    }
  }
  // What is left is the begin of the end mark: ones, and less than a byte of them.
  return length < 8 && code === 2 ** length - 1 ? text : undefined;
}
