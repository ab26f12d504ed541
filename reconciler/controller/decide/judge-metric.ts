// Judges the answer of a Prometheus server for a check of a rollout. Pure.
import type { MetricCheck } from '../config/config.ts';

/** Why the check fails; undefined: it passes. Throws for a malformed answer. */
export function judgeMetric(answer: unknown, { min, max }: Pick<MetricCheck, 'min' | 'max'>): string | undefined {
  const values = valuesOf(answer);
  if (values.length === 0) return 'the query finds nothing';
  for (const value of values) {
    if (Number.isNaN(value)) return 'a value is no number';
    if (max !== undefined && value > max) return `${value} is above ${max}`;
    if (min !== undefined && value < min) return `${value} is below ${min}`;
  }
  return undefined;
}

interface Answer {
  readonly status?: unknown;
  readonly error?: unknown;
  readonly data?: { readonly resultType?: unknown; readonly result?: unknown };
}

function valuesOf(answer: unknown): readonly number[] {
  const { status, error, data } = (typeof answer === 'object' && answer !== null ? answer : {}) as Answer;
  if (status === 'error') throw new Error(`the query is refused: ${String(error).slice(0, 200)}`);
  const { resultType, result } = data ?? {};
  if (status === 'success' && resultType === 'scalar') return [numberOf(result)];
  if (status === 'success' && resultType === 'vector' && Array.isArray(result))
    return result.map((one: unknown) => numberOf((one as { readonly value?: unknown } | null)?.value));
  throw new Error('it is not an answer of Prometheus: it must be a vector or a scalar');
}

/** A pair of time and text. */
function numberOf(pair: unknown): number {
  const text: unknown = Array.isArray(pair) ? pair[1] : undefined;
  if (typeof text !== 'string') throw new Error('it is not an answer of Prometheus: a value is missing');
  if (/^[+-]?Inf$/.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  return text.trim() === '' ? Number.NaN : Number(text);
}
