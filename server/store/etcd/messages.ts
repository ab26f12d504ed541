// Types of the messages of `descriptor.ts` as sent and received: 64-bit numbers arrive as text, since lease ids exceed 2^53.

export interface Header {
  readonly clusterId: string;
  /** The id of the member that answered. */
  readonly memberId: string;
  readonly revision: string;
  /** Grows with each election. */
  readonly raftTerm: string;
}

export interface KeyValue {
  readonly key: Buffer;
  readonly createRevision: string;
  readonly modRevision: string;
  readonly version: string;
  readonly value: Buffer;
  /** 0: no lease. */
  readonly lease: string;
}

export interface EtcdEvent {
  readonly type: 'PUT' | 'DELETE';
  readonly kv: KeyValue;
}

export interface RangeRequest {
  readonly key: Buffer;
  readonly rangeEnd?: Buffer;
  readonly limit?: number;
  readonly revision?: number;
  readonly keysOnly?: boolean;
  readonly countOnly?: boolean;
}

export interface RangeResponse {
  readonly header: Header;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
  readonly count: string;
}

export interface EtcdCompare {
  readonly result: 'EQUAL' | 'GREATER';
  readonly target: 'VERSION' | 'MOD' | 'VALUE';
  readonly key: Buffer;
  readonly version?: number;
  readonly modRevision?: number;
  readonly value?: Buffer;
}

interface PutRequest {
  readonly key: Buffer;
  readonly value?: Buffer;
  readonly lease?: string;
  /** The value stays, its revision changes. */
  readonly ignoreValue?: boolean;
}

export interface RequestOp {
  readonly requestRange?: RangeRequest;
  readonly requestPut?: PutRequest;
  readonly requestDeleteRange?: { readonly key: Buffer };
  readonly requestTxn?: TxnRequest;
}

export interface TxnRequest {
  readonly compare: readonly EtcdCompare[];
  readonly success: readonly RequestOp[];
  readonly failure: readonly RequestOp[];
}

export interface TxnResponse {
  readonly header: Header;
  readonly succeeded: boolean;
  readonly responses: readonly { readonly responseRange?: RangeResponse }[];
}

export interface WatchResponse {
  readonly header: Header;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compactRevision: string;
  readonly cancelReason: string;
  readonly events: readonly EtcdEvent[];
}

interface WatchRequest {
  readonly createRequest: { readonly key: Buffer; readonly rangeEnd?: Buffer; readonly startRevision: number };
}

interface LeaseAnswer {
  readonly header: Header;
  readonly ID: string;
  readonly TTL: string;
}

export type AlarmType = 'NONE' | 'NOSPACE' | 'CORRUPT';

interface AlarmRequest {
  readonly action: 'GET' | 'DEACTIVATE';
  readonly memberID?: string;
  readonly alarm?: AlarmType;
}

interface AlarmMessage {
  readonly memberID: string;
  readonly alarm: AlarmType;
}

/** Some versions of etcd leave the header out of some answers. */
interface Answer {
  readonly header: Header | null;
}

interface StatusMessage {
  readonly header: Header;
  readonly version: string;
  readonly dbSize: string;
  readonly dbSizeInUse: string;
  readonly leader: string;
  readonly isLearner: boolean;
}

export interface MemberMessage {
  readonly ID: string;
  readonly name: string;
  readonly peerURLs: readonly string[];
  readonly clientURLs: readonly string[];
  readonly isLearner: boolean;
}

interface MembersMessage {
  readonly header: Header;
  readonly members: readonly MemberMessage[];
}

/** Every call: its request and its answer. */
export interface Calls {
  Range: [RangeRequest, RangeResponse];
  Txn: [TxnRequest, TxnResponse];
  /** `physical`: answers once the space is free. */
  Compact: [{ readonly revision: number; readonly physical?: boolean }, { readonly header: Header }];
  LeaseGrant: [{ readonly TTL: number }, LeaseAnswer & { readonly error: string }];
  LeaseRevoke: [{ readonly ID: string }, { readonly header: Header }];
  Alarm: [AlarmRequest, { readonly header: Header | null; readonly alarms: readonly AlarmMessage[] }];
  Status: [object, StatusMessage];
  Defragment: [object, Answer];
  MoveLeader: [{ readonly targetID: string }, Answer];
  MemberList: [object, MembersMessage];
  MemberAdd: [
    { readonly peerURLs: readonly string[]; readonly isLearner: boolean },
    MembersMessage & { readonly member: MemberMessage },
  ];
  MemberRemove: [{ readonly ID: string }, MembersMessage];
  MemberPromote: [{ readonly ID: string }, MembersMessage];
  Authenticate: [
    { readonly name: string; readonly password: string },
    { readonly header: Header; readonly token: string },
  ];
}

/** Bidirectional streams. */
export interface Streams {
  Watch: [WatchRequest, WatchResponse];
  LeaseKeepAlive: [{ readonly ID: string }, LeaseAnswer];
}

export const services = {
  Range: 'KV',
  Txn: 'KV',
  Compact: 'KV',
  LeaseGrant: 'Lease',
  LeaseRevoke: 'Lease',
  LeaseKeepAlive: 'Lease',
  Alarm: 'Maintenance',
  Status: 'Maintenance',
  Defragment: 'Maintenance',
  MoveLeader: 'Maintenance',
  MemberList: 'Cluster',
  MemberAdd: 'Cluster',
  MemberRemove: 'Cluster',
  MemberPromote: 'Cluster',
  Authenticate: 'Auth',
  Watch: 'Watch',
} as const satisfies Record<keyof Calls | keyof Streams, string>;
