// Loads a configuration with data sources of a server. A value may decide which further data sources exist, so the configuration is
// evaluated again until it requests no new ones.
import type { ConfigFile } from '../terraform-json/config/blocks.ts';
import type { ModuleFiles } from '../terraform-json/config/module-tree.ts';
import type { DataAnswer, DataRequest } from '../terraform-json/evaluation/instance.ts';
import type { VariableSetting } from '../terraform-json/evaluation/variables.ts';
import { loadTerraform, type TerraformLoad } from '../terraform-json/load-terraform.ts';
import { withinTime } from './within-time.ts';

/** Answers in the order of the requests. */
export type LiveData = (requests: readonly DataRequest[]) => Promise<readonly DataAnswer[]>;

interface LoadedData {
  readonly loaded: TerraformLoad;
  /** Notices about data sources that were not read. */
  readonly unread: readonly string[];
}

const maxRounds = 20;
/** Thousands of resources take a second or two. */
const evaluationMs = 20_000;

/** Without `live`, contacts no server. `limitMs`: for all rounds of evaluation together. */
export async function loadWithData(
  files: readonly ConfigFile[],
  given: ReadonlyMap<string, VariableSetting>,
  modules: ModuleFiles,
  live: LiveData | undefined,
  limitMs = evaluationMs,
): Promise<LoadedData> {
  const answers = new Map<string, DataAnswer>();
  let leftMs = limitMs;
  for (let round = 0; ; round++) {
    const asked = new Map<string, DataRequest>();
    const read = (request: DataRequest): DataAnswer => {
      const key = JSON.stringify(request);
      if (!answers.has(key)) asked.set(key, request);
      return answers.get(key);
    };
    const begunMs = performance.now();
    const loaded = withinTime(leftMs, () => loadTerraform(files, given, { modules, read }));
    if (loaded === undefined) return { loaded: tooLong(limitMs, files[0]?.file ?? ''), unread: [] };
    leftMs = Math.max(1, leftMs - Math.ceil(performance.now() - begunMs));
    if (asked.size === 0) return { loaded, unread: [] };
    if (live === undefined || round >= maxRounds) return withoutData(loaded, [...asked.values()]);
    const found = await live([...asked.values()]);
    for (const [at, key] of [...asked.keys()].entries()) answers.set(key, found[at]);
  }
}

const tooLong = (limitMs: number, file: string): TerraformLoad => ({
  documents: [],
  problems: [{ code: 'E_TIME', message: `the evaluation takes longer than ${limitMs / 1000} s`, file, steps: [] }],
  notices: [],
  outputs: new Map(),
});

/** Drops problems of values that depend on data sources, since they cannot be checked. */
function withoutData(loaded: TerraformLoad, asked: readonly DataRequest[]): LoadedData {
  const types = [...new Set(asked.map(({ type }) => type))].join(', ');
  const notice = `data sources (${types}) are read when a plan is made: values that depend on them were not checked`;
  return {
    loaded: { ...loaded, problems: loaded.problems.filter(({ code }) => code !== 'E_UNKNOWN_VALUE') },
    unread: [notice],
  };
}
