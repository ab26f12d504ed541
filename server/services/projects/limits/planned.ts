// Containers and volumes as changes under way will leave them: they count from the beginning of the change. Pure.
import type { ContainerDocument, SagaDocument, VolumeDocument } from '../../../records/documents.ts';
import type { SagaKind } from '../../../records/saga-kinds.ts';
import { volumeKey } from '../../../records/record-names.ts';
import type { MoveParams as ContainerMove } from '../../containers/sagas/container-move.ts';
import type { RestoreParams } from '../../containers/sagas/snapshot-restore.ts';
import type { MoveParams as VolumeMove } from '../../storage/sagas/volume-rename.ts';
import type { RecordPart } from './view.ts';

export interface Planned {
  /** By qualified name. */
  readonly containers: Map<string, ContainerDocument>;
  /** By key. */
  readonly volumes: Map<string, VolumeDocument>;
}

type Plan = (params: never, part: RecordPart, planned: Planned) => void;

/** Sagas whose result is not in the records from their first transaction on. */
const plans: Partial<Record<SagaKind, Plan>> = {
  'snapshot-restore': ({ container, document }: RestoreParams, _part, { containers }) => {
    containers.set(container, document);
  },
  'container-move': ({ from, to }: ContainerMove, part, { containers }) => {
    const document = part.get('containers', from.name);
    if (document !== undefined) containers.set(to.name, { ...document, pool: to.pool });
  },
  'volume-move': ({ from, to }: VolumeMove, part, { volumes }) => {
    const document = part.get('volumes', volumeKey(from));
    if (document !== undefined) volumes.set(volumeKey(to), document);
  },
};

/** By one member. */
export function plannedBy(part: RecordPart): Planned {
  const planned: Planned = { containers: new Map(), volumes: new Map() };
  for (const { document } of part.list('sagas')) planOf(document, part, planned);
  return planned;
}

function planOf({ kind, params }: SagaDocument, part: RecordPart, planned: Planned): void {
  const plan = Object.hasOwn(plans, kind) ? plans[kind as SagaKind] : undefined;
  plan?.(params as never, part, planned);
}
