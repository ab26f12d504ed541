// Reads which changes of a set need approval, by its own rule and that of its tenant.
import { durationMs } from '../../../server/api/text/durations.ts';
import type { WrittenApproval } from '../tenancy/approval-schema.ts';
import { approvalLevels, type ApprovalRule } from './config.ts';
import type { Report } from './report.ts';

const [dayMs, leastMs, maxMs] = [86_400_000, 60_000, 30 * 86_400_000];

export function readApproval({ for: level, expires }: WrittenApproval, at: string, report: Report): ApprovalRule {
  const expiresMs = expires === undefined ? dayMs : (durationMs(expires) ?? 0);
  if (expiresMs < leastMs || expiresMs > maxMs)
    report(`${at}.expires`, `must be a duration from 1m to 30d, is ${JSON.stringify(expires)}`);
  return { level, expiresMs };
}

/** The rule of a set of this tenant. */
export function approvalOf(
  own: ApprovalRule | undefined,
  tenant: { readonly approval?: WrittenApproval } | undefined,
): { readonly approval?: ApprovalRule } {
  const its = tenant?.approval === undefined ? undefined : readApproval(tenant.approval, '', () => undefined);
  const approval = joinedRule(own, its);
  return approval === undefined ? {} : { approval };
}

/** The stricter of both. */
function joinedRule(one: ApprovalRule | undefined, other: ApprovalRule | undefined): ApprovalRule | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const level = approvalLevels[Math.max(...[one, other].map((rule) => approvalLevels.indexOf(rule.level)))];
  return { level: level ?? 'all', expiresMs: Math.min(one.expiresMs, other.expiresMs) };
}
