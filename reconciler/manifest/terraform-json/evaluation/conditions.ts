// Preconditions, postconditions and check blocks: reports conditions that fail or that only an apply can evaluate.
import { below, listOf, type Check, type Piece } from '../config/blocks.ts';
import { toBool, unknown, type Value } from '../expression/values.ts';
import type { Report } from '../problem.ts';
import type { Code } from '../unsupported.ts';
import type { Context } from './instance.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

type Rule = Parameters<typeof listOf>[0];

interface Rules {
  /** `gantry_container.web`, `output.address`. */
  readonly label: string;
  readonly kind: 'precondition' | 'postcondition';
  /** The place of the rules. */
  readonly piece: Piece;
  readonly rules: Rule;
}

export interface Judging {
  readonly evaluate: (json: Rule, place: Context['place']) => Value;
  /** True when it has a sensitive value. */
  readonly isSecret: (json: Rule) => boolean;
}

const codes: Readonly<Record<Rules['kind'], Code>> = {
  precondition: 'E_PRECONDITION',
  postcondition: 'E_POSTCONDITION',
};

export function judge({ label, kind, piece, rules }: Rules, judging: Judging, report: Report): void {
  for (const rule of listOf(rules)) {
    const { file, steps, construct } = below(piece, kind);
    const where = { file, steps, ...withoutUndefined({ construct }) };
    const { condition } = rule;
    if (condition === undefined)
      report({ code: 'E_SHAPE', message: `${label}: the ${kind} has no condition`, ...where });
    const holds = truthOf(judging.evaluate(condition ?? true, where));
    if (holds === true) continue;
    if (holds === unknown) {
      const message = `${label}: whether the ${kind} holds is known after an apply only`;
      report({ code: 'E_UNKNOWN_VALUE', message, ...where });
      continue;
    }
    const why = messageOf(rule['error_message'], where, judging) ?? `a ${kind} does not hold`;
    report({ code: codes[kind], message: `${label}: ${why}`, ...where });
  }
}

/** Warnings, since a failing check does not stop a run. */
export function judgeCheck(check: Check, judging: Judging): readonly string[] {
  return listOf(check.body['assert']).flatMap((rule) => {
    const place = below(check, 'assert');
    const holds = truthOf(judging.evaluate(rule['condition'] ?? true, place));
    if (holds === true) return [];
    if (holds === unknown) return [`check ${check.name}: whether it holds is known after an apply only`];
    return [`check ${check.name}: ${messageOf(rule['error_message'], place, judging) ?? 'it does not hold'}`];
  });
}

/** Terraform hides messages with sensitive values too. */
function messageOf(message: Rule, place: Context['place'], { evaluate, isSecret }: Judging): string | undefined {
  if (isSecret(message)) return undefined;
  const text = evaluate(message ?? '', place);
  return typeof text === 'string' && text !== '' ? text : undefined;
}

function truthOf(value: Value): boolean | typeof unknown {
  try {
    return toBool(value) ?? false;
  } catch {
    return false;
  }
}
