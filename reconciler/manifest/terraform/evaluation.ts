// One evaluation of a configuration, limited in time. Plain data goes in and comes out, so that it can also run in a thread.
import type { ConfigFile } from '../terraform-json/config/blocks.ts';
import type { ModuleFiles } from '../terraform-json/config/module-tree.ts';
import type { DataAnswer, DataRequest } from '../terraform-json/evaluation/instance.ts';
import type { VariableSetting } from '../terraform-json/evaluation/variables.ts';
import type { TerraformLoad } from '../terraform-json/load-terraform.ts';

export interface Configuration {
  readonly files: readonly ConfigFile[];
  /** Values of variables. */
  readonly given: ReadonlyMap<string, VariableSetting>;
  readonly modules: ModuleFiles;
}

/** Answers of data sources, by their requests as JSON. */
export type Answers = ReadonlyMap<string, DataAnswer>;

export interface Evaluated {
  readonly loaded: TerraformLoad;
  /** Requests without an answer. */
  readonly asked: ReadonlyMap<string, DataRequest>;
  readonly tookMs: number;
}

/** Throws EvaluationLimitError. */
export type Evaluate = (
  configuration: Configuration,
  answers: Answers,
  limitMs: number,
  signal?: AbortSignal,
) => Promise<Evaluated>;

/** The evaluation needs more of this than it may have, and was ended. */
export class EvaluationLimitError extends Error {
  override readonly name = 'EvaluationLimitError';
  readonly exceeded: 'time' | 'memory';
  constructor(exceeded: 'time' | 'memory') {
    super(`the evaluation needs too much ${exceeded}`);
    this.exceeded = exceeded;
  }
}
