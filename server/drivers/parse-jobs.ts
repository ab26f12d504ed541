// Parses untrusted text in a separate thread and returns the needed part. Runs in the worker.
import { parseYaml } from './image/yaml-parser.ts';
import { yamlShapeProblem } from './image/yaml-shape.ts';
import { parseStreamIndex, parseStreamProducts } from './remote/streams-index.ts';
import { shapeProblem, type JsonShape } from '../lib/json-shape.ts';
import { reasonOf } from '../lib/shared/reason.ts';

/** By name: turns UTF-8 text into a list of values, sent back in pieces. Throws an error for the sender of the text. */
export const parseJobs = {
  /** One value. */
  yaml: (bytes: Uint8Array): readonly unknown[] => [boundedYaml(decode(bytes))],
  /** Paths. */
  'stream index': (bytes: Uint8Array): readonly unknown[] => parseStreamIndex(parseJson(bytes)),
  /** StreamImage. */
  'stream products': (bytes: Uint8Array): readonly unknown[] => parseStreamProducts(parseJson(bytes)),
} as const satisfies Record<string, (bytes: Uint8Array) => readonly unknown[]>;

export type ParseJob = keyof typeof parseJobs;

export interface ParseRequest {
  readonly job: ParseJob;
  readonly bytes: Uint8Array;
}

/** JSON texts of lists, which together are the result; or the problem. */
export type ParseReply = { readonly pieces: readonly string[] } | { readonly error: string };

/** Reading a piece of this size takes a few milliseconds. */
const pieceItems = 200;

export function runParseJob({ job, bytes }: ParseRequest): ParseReply {
  try {
    const items = parseJobs[job](bytes);
    const pieces: string[] = [];
    for (let from = 0; from < items.length; from += pieceItems)
      pieces.push(JSON.stringify(items.slice(from, from + pieceItems)));
    return { pieces };
  } catch (error) {
    return { error: reasonOf(error) };
  }
}

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** An index of a large server has some hundred thousand values, seven levels deep. */
const indexShape: JsonShape = { maxDepth: 64, maxValues: 10_000_000 };

function parseJson(bytes: Uint8Array): unknown {
  const problem = shapeProblem(bytes, indexShape);
  if (problem !== undefined) throw new Error(`it ${problem}`);
  try {
    return JSON.parse(decode(bytes));
  } catch (error) {
    throw new Error(`it is not JSON: ${reasonOf(error)}`, { cause: error });
  }
}

const maxValues = 30_000;
const maxDepth = 64;

function boundedYaml(text: string): unknown {
  const problem = yamlShapeProblem(text, { maxDepth, maxValues });
  if (problem !== undefined) throw new Error(`it ${problem}`);
  return bounded(parseYaml(text));
}

/** The value, if small enough for the calling thread. Counts content repeated by aliases each time. */
function bounded(value: unknown): unknown {
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 0 }];
  let count = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    count += 1;
    if (count > maxValues) throw new Error(`it has more than ${maxValues} values`);
    if (typeof next.value !== 'object' || next.value === null) continue;
    const depth = next.depth + 1;
    if (depth > maxDepth) throw new Error(`it is nested deeper than ${maxDepth} levels`);
    for (const member of Object.values(next.value)) open.push({ value: member, depth });
  }
  return value;
}
