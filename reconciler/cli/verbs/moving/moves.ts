// A move of objects between servers as data: ordered steps, and what stays behind or differs. Pure.
import type { KindName } from '../../../../server/api/kinds.ts';
import type { Observed } from '../../../core/documents/observed.ts';

export type Devices = Readonly<Record<string, Readonly<Record<string, string>>>>;
export type Values = Readonly<Record<string, unknown>>;

interface Base {
  /** `container/web1@team`: the name of the step in the progress file and in output. */
  readonly id: string;
  /** Undefined: the default project. */
  readonly project?: string;
  /** In the API. */
  readonly name: string;
}

/** Plain objects: their whole content is in the body. */
export interface ObjectMove extends Base {
  readonly type: 'object';
  readonly kind: KindName;
  /** `fill`: the object exists on every server and is still empty on the target. */
  readonly action: 'create' | 'fill';
  readonly body: Values;
}

export interface ImageMove extends Base {
  readonly type: 'image';
  readonly isPublic: boolean;
}

export interface VolumeMove extends Base {
  readonly type: 'volume';
  readonly pool: string;
  readonly description: string;
  readonly config: Readonly<Record<string, string>>;
  /** Running containers that write into it: they stop before it is copied. */
  readonly stops: readonly ContainerMove[];
}

export interface ContainerMove extends Base {
  readonly type: 'container';
  readonly isRunning: boolean;
  /** Its volumes are copied once, so it is stopped before the first copy. */
  readonly stopsFirst: boolean;
  /** Ids of the steps of its custom volumes. */
  readonly volumes: readonly string[];
  readonly devices: Devices;
  /** Config keys that the target lacks. */
  readonly drops: readonly string[];
}

export type Move = ObjectMove | ImageMove | VolumeMove | ContainerMove;

/** A difference that the user sees before the move. `left`: the object stays behind. `changed`: it moves, but differs. */
export interface Difference {
  readonly id: string;
  readonly effect: 'left' | 'changed';
  /** What, why and what to do. */
  readonly text: string;
}

export interface MovePlan {
  readonly moves: readonly Move[];
  readonly differences: readonly Difference[];
}

/** The observed objects of one server. */
export interface Inventory {
  readonly world: Observed;
  readonly virtualMachines: readonly string[];
  /** Leased IPv4 addresses by hardware address, of networks that the server manages. */
  readonly leases: ReadonlyMap<string, string>;
}

export interface MoveRequest {
  readonly source: Inventory;
  readonly target: Observed;
  /** Leased addresses of containers become static ones. */
  readonly keepsAddresses: boolean;
  /** Ids of steps that an earlier run began or finished: their objects on the target come from that run. */
  readonly begun: ReadonlySet<string>;
  /** What the target's host runs. Absent: not reported. */
  readonly architectures?: readonly string[];
}
