// The input beside Terraform JSON: values of variables, the environment, and the server. Types only.
import type { Evaluate } from './evaluation.ts';
import type { LiveData } from './load-with-data.ts';

/** Inputs from outside the files. */
export interface TerraformInput {
  /** Variables of the command line; some may be for manifests beside the configuration. */
  readonly vars: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Values for modules that declare these variables, weaker than `vars`. */
  readonly offered?: Readonly<Record<string, string>>;
  /** Files of --var-file, weakest first; they override those of the folder. */
  readonly valueFiles?: readonly string[];
  /** Reads data sources from the server; without it their values are unknown. */
  readonly live?: LiveData;
  readonly evaluate?: Evaluate;
}
