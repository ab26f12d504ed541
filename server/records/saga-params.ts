// The parameters that a saga stores for its recovery, by kind: a version, and the required members. Pure.
import { type TSchema, Type } from 'typebox';
import { validateBody } from '../api/schema/validate-json.ts';
import type { SagaDocument } from './documents.ts';

interface ParamsFormat {
  /** Raised with every change of the schema, or of a member's meaning. */
  readonly version: number;
  readonly schema: TSchema;
  /** Each turns parameters of its version into the next one's. Absent: they are the same. */
  readonly upgrades?: Readonly<Record<number, (params: unknown) => unknown>>;
}

const name = Type.String({ minLength: 1 });
const uuid = Type.String();
/** Documents are versioned separately, see codec.ts. */
const document = Type.Object({ v: Type.Literal(1) });
const place = Type.Object({ name, pool: name });
const entries = Type.Array(Type.Object({ name, document }));
const kindOf = Type.Object({ kind: Type.String() });
const rename = Type.Object({ name, to: name });
const network = { name, document };
const snapshot = { container: name, uuid, pool: name, snapshot: name };
const volumeSnapshot = { volume: place, uuid, snapshot: name };
const backup = { uuid, backup: name, document, algorithm: Type.String() };
const volumeMove = { from: place, to: place };

/** Releases before version 1 stored the same without a number. */
const first = <S extends TSchema>(schema: S) => ({ version: 1, schema });

export const sagaParams = {
  'backup-create': {
    // Since version 2 the target may be a volume.
    version: 2,
    schema: Type.Union([Type.Object({ container: name, ...backup }), Type.Object({ volume: place, ...backup })]),
  },
  'container-arrive': first(
    Type.Object({
      name,
      document,
      from: Type.Object({ name, member: Type.Number(), modRev: Type.Number() }),
      snapshots: entries,
    }),
  ),
  'container-create': first(
    Type.Object({ name, document, source: kindOf, copied: Type.Optional(Type.Object({ snapshots: entries })) }),
  ),
  'container-delete': first(place),
  'container-drop-state': first(place),
  'container-leave': first(Type.Object({ name, uuid, pool: name })),
  'container-move': first(
    Type.Object({ ...volumeMove, snapshots: Type.Array(Type.String()), instanceId: Type.Optional(Type.String()) }),
  ),
  'container-receive': first(Type.Object({ name, document, snapshots: entries })),
  'container-refresh': first(Type.Object({ name, uuid, pool: name, added: entries })),
  'container-rename': first(
    Type.Object({ from: name, to: name, pool: name, instanceId: Type.Optional(Type.String()) }),
  ),
  'container-store-state': first(
    Type.Object({ name, pool: name, logFile: Type.String(), previous: Type.Optional(Type.String()) }),
  ),
  'image-add': first(
    Type.Object({
      fingerprint: name,
      document,
      metadataPath: Type.String(),
      rootfsPath: Type.Union([Type.String(), Type.Null()]),
      aliases: Type.Array(Type.Object({ name, description: Type.String() })),
      copyOf: Type.Optional(Type.Number()),
    }),
  ),
  'image-delete': first(Type.Object({ fingerprint: name })),
  'network-create': first(Type.Object(network)),
  'network-delete': first(Type.Object(network)),
  'network-rename': first(Type.Object({ ...network, to: name })),
  'pool-create': first(Type.Object({ name, document })),
  'pool-delete': first(Type.Object({ name, document })),
  'profile-rename': first(rename),
  'project-rename': first(rename),
  'snapshot-create': first(
    Type.Object({ ...snapshot, document, state: Type.Optional(Type.Object({ wasFrozen: Type.Boolean() })) }),
  ),
  'snapshot-delete': first(Type.Object(snapshot)),
  'snapshot-rename': first(Type.Object({ ...snapshot, to: name })),
  'snapshot-restore': first(Type.Object({ ...snapshot, document })),
  'volume-create': first(
    Type.Object({
      volume: place,
      document,
      source: kindOf,
      copied: Type.Optional(Type.Object({ from: place, snapshots: entries })),
    }),
  ),
  'volume-delete': first(place),
  'volume-move': first(Type.Object({ ...volumeMove, snapshots: entries })),
  'volume-receive': first(Type.Object({ volume: place, document, snapshots: entries })),
  'volume-refresh': first(Type.Object({ volume: place, uuid, added: entries })),
  'volume-rename': first(Type.Object(volumeMove)),
  'volume-restore': first(Type.Object(volumeSnapshot)),
  'volume-snapshot-create': first(Type.Object({ ...volumeSnapshot, document })),
  'volume-snapshot-delete': first(Type.Object(volumeSnapshot)),
  'volume-snapshot-rename': first(Type.Object({ ...volumeSnapshot, to: name })),
} satisfies Readonly<Record<string, ParamsFormat>>;

/** Each needs a saga in the saga table, and is never reused for another change. */
export type SagaKind = keyof typeof sagaParams;

export type ReadParams =
  | { readonly kind: SagaKind; readonly params: unknown }
  /** Why this release can neither finish nor undo the change, and what to do. */
  | { readonly problem: string };

const isKind = (kind: string): kind is SagaKind => Object.hasOwn(sagaParams, kind);

/** The parameters of a stored intent, upgraded to this release. `formats`: of all kinds. */
export function readSagaParams(
  { kind, version = 0, params }: Pick<SagaDocument, 'kind' | 'version' | 'params'>,
  formats: { readonly [K in SagaKind]: ParamsFormat } = sagaParams,
): ReadParams {
  if (!isKind(kind)) return { problem: `this release knows no change of the kind ${kind}: ${startNewer}` };
  const { version: newest, schema, upgrades = {} } = formats[kind];
  if (version > newest)
    return { problem: `its parameters have version ${version}, and this release reads up to ${newest}: ${startNewer}` };
  let upgraded = params;
  for (let at = version; at < newest; at += 1) upgraded = upgrades[at]?.(upgraded) ?? upgraded;
  const problems = validateBody(schema, upgraded);
  if (problems.length === 0) return { kind, params: upgraded };
  const what = problems.map(({ path, message }) => `${path} ${message}`.trim()).join('; ');
  return { problem: `its stored parameters are damaged (${what}): restore the store from a backup` };
}

const startNewer = 'start the release that began it, which finishes or undoes it';
