// Selects the documents of a load for one host by `manage.hosts`, before all other checks. hosts-file.ts reads the hosts file.
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { Json } from '../../core/documents/document.ts';
import { matchesHost, parseHostPattern, unknownNameIn } from '../../core/documents/host-pattern.ts';
import { isMap, mapOf } from '../../core/documents/json-values.ts';
import { wrong, type Finding } from '../text/finding.ts';
import { placedDiagnostic } from '../text/locate-diagnostics.ts';
import type { Part } from './overlays.ts';
import { hostTexts } from './read-manage.ts';
import type { HostView } from '../load-contract.ts';

/** True when `hosts.yaml` may be among the manifests. */
export const isHostsFile = (value: Json): boolean => isMap(value) && value['kind'] === 'hosts';

export interface ForHost {
  readonly parts: readonly Part[];
  /** Documents for other hosts: their overlays are not reported as missing a base. */
  readonly others: readonly Part[];
  readonly diagnostics: readonly Diagnostic[];
}

export function partsForHost(parts: readonly Part[], view: HostView | undefined): ForHost {
  const kept: Part[] = [];
  const others: Part[] = [];
  const diagnostics: Diagnostic[] = [];
  for (const part of parts) {
    const texts = hostTexts(hostsOf(part.raw.value));
    const findings = texts.flatMap((text) => problemOf(text, view) ?? []);
    diagnostics.push(...findings.map((finding) => placedDiagnostic(finding, part.source, part.raw)));
    const isMeant = texts.length === 0 || (view !== undefined && texts.some((text) => isFor(text, view)));
    (isMeant ? kept : others).push(part);
  }
  return { parts: kept, others, diagnostics };
}

/** Reads `hosts` of flat documents and of the Kubernetes envelope. */
function hostsOf(value: Json): Json | undefined {
  if (!isMap(value)) return undefined;
  const { manage, metadata, spec } = value;
  return [manage, mapOf(spec)['manage'], mapOf(metadata)['manage']]
    .map((block) => mapOf(block)['hosts'])
    .find((hosts) => hosts !== undefined);
}

function problemOf(text: string, view: HostView | undefined): Finding | undefined {
  const pattern = parseHostPattern(text);
  if (typeof pattern === 'string') return wrong('bad-selector', 'manage.hosts', `manage.hosts: ${pattern}`);
  if (view === undefined) {
    const message = `this document is for some hosts only (${text}), and no hosts were given`;
    return wrong('needs-hosts', 'manage.hosts', message, 'give them with --hosts FILE');
  }
  const strange = unknownNameIn(pattern, view.all);
  return strange === undefined ? undefined : wrong('unknown-host', 'manage.hosts', `manage.hosts: ${strange}`);
}

function isFor(text: string, view: HostView): boolean {
  const pattern = parseHostPattern(text);
  return typeof pattern !== 'string' && matchesHost(pattern, view.facts);
}
