// A move of one server's objects to another as data: steps in their order, and what does not come along. Pure.
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
  /** `fill`: it exists on every server and is untouched on the target. */
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
  readonly devices: Devices;
  /** Config keys that the target lacks. */
  readonly drops: readonly string[];
}

export type Move = ObjectMove | ImageMove | VolumeMove | ContainerMove;

/** What the user has to know before the move. `left`: the object stays behind. `changed`: it moves with a difference. */
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

/** One server as it was read. */
export interface Inventory {
  readonly world: Observed;
  readonly virtualMachines: readonly string[];
  /** Leased IPv4 addresses by hardware address, of networks that the server manages. */
  readonly leases: ReadonlyMap<string, string>;
}

export interface MoveRequest {
  readonly source: Inventory;
  readonly target: Observed;
  /** Containers keep the addresses that they have leased: these become static ones. */
  readonly keepsAddresses: boolean;
  /** Ids of steps that an earlier run began or ended: what the target has of them is its own work. */
  readonly begun: ReadonlySet<string>;
}
