// Containers and volumes as pending changes will leave them: they count from the beginning of the change. Pure.
import type { ContainerDocument, SagaDocument, VolumeDocument } from '../../records/documents.ts';
import { readSagaParams } from '../../records/saga-params.ts';
import type { SagaKind } from '../../records/saga-params.ts';
import { volumeKey, type VolumeId } from '../../records/record-names.ts';
import type { RecordPart } from './view.ts';

export interface PendingObjects {
  /** By qualified name. */
  readonly containers: Map<string, ContainerDocument>;
  /** By key. */
  readonly volumes: Map<string, VolumeDocument>;
}

/** Saga parameters that a limit needs to count the result. */
export interface ContainerMovePlan {
  readonly from: { readonly name: string };
  readonly to: { readonly name: string; readonly pool: string };
}

export interface RestorePlan {
  readonly container: string;
  /** The container's record after the change. */
  readonly document: ContainerDocument;
}

export interface VolumeMovePlan {
  readonly from: VolumeId;
  readonly to: VolumeId;
}

type Plan = (params: never, part: RecordPart, planned: PendingObjects) => void;

/** Sagas whose first transaction does not record their result. */
const plans: Partial<Record<SagaKind, Plan>> = {
  'snapshot-restore': ({ container, document }: RestorePlan, _part, { containers }) => {
    containers.set(container, document);
  },
  'container-move': ({ from, to }: ContainerMovePlan, part, { containers }) => {
    const document = part.get('containers', from.name);
    if (document !== undefined) containers.set(to.name, { ...document, pool: to.pool });
  },
  'volume-move': ({ from, to }: VolumeMovePlan, part, { volumes }) => {
    const document = part.get('volumes', volumeKey(from));
    if (document !== undefined) volumes.set(volumeKey(to), document);
  },
};

/** Planned by one member. */
export function plannedBy(part: RecordPart): PendingObjects {
  const planned: PendingObjects = { containers: new Map(), volumes: new Map() };
  for (const { document } of part.list('sagas')) planOf(document, part, planned);
  return planned;
}

function planOf(document: SagaDocument, part: RecordPart, planned: PendingObjects): void {
  if (!Object.hasOwn(plans, document.kind)) return;
  const read = readSagaParams(document);
  if ('kind' in read) plans[read.kind]?.(read.params as never, part, planned);
}
