// Types of the messages of `descriptor.ts` as sent and received: 64-bit numbers arrive as text, since lease ids exceed 2^53.
import type { etcdDescriptor } from './descriptor.ts';

type Packages = (typeof etcdDescriptor)['nested'];
type OfKeys = Packages['mvccpb']['nested'];
/** Each type by the name that the fields of other messages give it. */
type Described = Packages['etcdserverpb']['nested'] & { [Name in keyof OfKeys as `mvccpb.${Name}`]: OfKeys[Name] };

interface Scalars {
  readonly string: string;
  readonly bytes: Buffer;
  readonly bool: boolean;
}

/** The value of a field of that type. `Long`: how 64-bit numbers are written. */
type Value<Type, Long> = Type extends 'int64' | 'uint64'
  ? Long
  : Type extends keyof Scalars
    ? Scalars[Type]
    : Type extends keyof Described
      ? DescribedValue<Described[Type], Long>
      : never;

/** A choice of an enum, or a message. Of a `oneof`, and of a sent message, members may be absent. */
type DescribedValue<Description, Long> = Description extends { readonly values: infer Choices }
  ? keyof Choices
  : Description extends { readonly fields: infer Fields }
    ? Description extends { readonly oneofs: object }
      ? Partial<Members<Fields, Long>>
      : number extends Long
        ? Partial<Members<Fields, Long>>
        : Members<Fields, Long>
    : never;

type Members<Fields, Long> = {
  readonly [Name in keyof Fields]: Fields[Name] extends { readonly type: infer Type }
    ? Fields[Name] extends { readonly rule: 'repeated' }
      ? readonly Value<Type, Long>[]
      : Value<Type, Long>
    : never;
};

type Sent<Name extends keyof Described> = Value<Name, number | string>;
type Received<Name extends keyof Described> = Value<Name, string>;

export type Header = Received<'ResponseHeader'>;
export type KeyValue = Received<'mvccpb.KeyValue'>;
export type EtcdEvent = Received<'mvccpb.Event'>;
export type RangeRequest = Sent<'RangeRequest'>;
export type EtcdCompare = Sent<'Compare'>;
export type RequestOp = Sent<'RequestOp'>;
export type TxnRequest = Sent<'TxnRequest'>;
export type WatchResponse = Received<'WatchResponse'>;
export type MemberMessage = Received<'Member'>;

type Methods = Described['KV' | 'Lease' | 'Maintenance' | 'Cluster' | 'Auth' | 'Watch']['methods'];
type MethodName<Group = Methods> = Group extends object ? keyof Group : never;
type MethodOf<Name, Group = Methods> = Group extends { readonly [Key in Name & string]: infer Method } ? Method : never;
type Exchange<Method> = Method extends {
  readonly requestType: infer Request extends keyof Described;
  readonly responseType: infer Response extends keyof Described;
}
  ? [Sent<Request>, Received<Response>]
  : never;
type StreamName = 'Watch' | 'LeaseKeepAlive';

/** Every call: its request and its answer. */
export type Calls = { [Name in Exclude<MethodName, StreamName>]: Exchange<MethodOf<Name>> };
/** Bidirectional streams. */
export type Streams = { [Name in StreamName]: Exchange<MethodOf<Name>> };
