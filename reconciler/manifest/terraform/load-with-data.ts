// Loads a configuration with data sources of a server. A value may decide which further data sources exist, so the configuration is
// evaluated again until it requests no new ones.
import type { DataAnswer, DataRequest } from '../terraform-json/evaluation/instance.ts';
import type { TerraformLoad } from '../terraform-json/load-terraform.ts';
import { evaluateHere } from './evaluate-here.ts';
import { EvaluationLimitError, type Configuration, type Evaluate } from './evaluation.ts';

/** Answers in the order of the requests. */
export type LiveData = (requests: readonly DataRequest[]) => Promise<readonly DataAnswer[]>;

export interface LoadOptions {
  /** Absent: no server is contacted. */
  readonly live?: LiveData;
  readonly evaluate?: Evaluate;
  /** For all rounds of evaluation together. */
  readonly limitMs?: number;
}

interface LoadedData {
  readonly loaded: TerraformLoad;
  /** Notices about data sources that were not read. */
  readonly unread: readonly string[];
}

const maxRounds = 20;
/** Thousands of resources take a second or two. */
const evaluationMs = 20_000;

export async function loadWithData(
  configuration: Configuration,
  { live, evaluate = evaluateHere, limitMs = evaluationMs }: LoadOptions,
  signal?: AbortSignal,
): Promise<LoadedData> {
  try {
    return await inRounds(configuration, { live, evaluate, limitMs }, signal);
  } catch (error) {
    if (!(error instanceof EvaluationLimitError)) throw error;
    const message = error.exceeded === 'time' ? `the evaluation takes longer than ${limitMs / 1000} s` : error.message;
    const problem = { code: 'E_TIME', message, file: configuration.files[0]?.file ?? '', steps: [] } as const;
    return { loaded: { documents: [], problems: [problem], notices: [], outputs: new Map() }, unread: [] };
  }
}

async function inRounds(
  configuration: Configuration,
  { live, evaluate, limitMs }: Required<Omit<LoadOptions, 'live'>> & { readonly live: LiveData | undefined },
  signal: AbortSignal | undefined,
): Promise<LoadedData> {
  const answers = new Map<string, DataAnswer>();
  let leftMs = limitMs;
  for (let round = 0; ; round++) {
    const { loaded, asked, tookMs } = await evaluate(configuration, answers, leftMs, signal);
    leftMs = Math.max(1, leftMs - tookMs);
    if (asked.size === 0) return { loaded, unread: [] };
    if (live === undefined || round >= maxRounds) return withoutData(loaded, [...asked.values()]);
    const found = await live([...asked.values()]);
    for (const [at, key] of [...asked.keys()].entries()) answers.set(key, found[at]);
  }
}

/** Drops problems of values that depend on data sources, since they cannot be checked. */
function withoutData(loaded: TerraformLoad, asked: readonly DataRequest[]): LoadedData {
  const types = [...new Set(asked.map(({ type }) => type))].join(', ');
  const notice = `data sources (${types}) are read when a plan is made: values that depend on them were not checked`;
  return {
    loaded: { ...loaded, problems: loaded.problems.filter(({ code }) => code !== 'E_UNKNOWN_VALUE') },
    unread: [notice],
  };
}
