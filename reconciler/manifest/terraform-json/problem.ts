// A problem of a Terraform configuration with its place; all problems are reported together.
import type { Code } from './unsupported.ts';

export interface Problem {
  readonly code: Code;
  readonly message: string;
  readonly file: string;
  /** Steps from the top of the file: `['resource', 'gantry_network', 'web', 'config']`. */
  readonly steps: readonly string[];
  /** `aws-cdk` path of the construct that made it, when the file has it. */
  readonly construct?: string;
  readonly expression?: string;
  /** Inside the expression. */
  readonly offset?: number;
}

export type Report = (problem: Problem) => void;

/** RFC 6901. */
export const pointerOf = (steps: readonly string[]): string =>
  steps.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
