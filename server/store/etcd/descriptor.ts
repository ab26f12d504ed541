// The part of etcd's gRPC interface that the store uses, as a descriptor: field names, numbers and types of its messages and services.

const field = <const Type extends string>(id: number, type: Type) => ({ id, type });
const list = <const Type extends string>(id: number, type: Type) => ({ id, type, rule: 'repeated' as const });
const fields = <T extends object>(of: T) => ({ fields: of });
const oneof = <T extends object>(name: string, of: T) => ({
  oneofs: { [name]: { oneof: Object.keys(of) } },
  fields: of,
});
const call = <const Request extends string, const Response extends string>(
  requestType: Request,
  responseType: Response,
) => ({ requestType, responseType });
const streams = <const Request extends string, const Response extends string>(
  requestType: Request,
  responseType: Response,
) => ({
  ...call(requestType, responseType),
  requestStream: true,
  responseStream: true,
});

const header = field(1, 'ResponseHeader');

const keyValue = {
  KeyValue: fields({
    key: field(1, 'bytes'),
    createRevision: field(2, 'int64'),
    modRevision: field(3, 'int64'),
    version: field(4, 'int64'),
    value: field(5, 'bytes'),
    lease: field(6, 'int64'),
  }),
  EventType: { values: { PUT: 0, DELETE: 1 } },
  Event: fields({ type: field(1, 'mvccpb.EventType'), kv: field(2, 'mvccpb.KeyValue') }),
};

const compareValues = {
  version: field(4, 'int64'),
  createRevision: field(5, 'int64'),
  modRevision: field(6, 'int64'),
  value: field(7, 'bytes'),
  lease: field(8, 'int64'),
};

const kv = {
  RangeRequest: fields({
    key: field(1, 'bytes'),
    rangeEnd: field(2, 'bytes'),
    limit: field(3, 'int64'),
    revision: field(4, 'int64'),
    keysOnly: field(8, 'bool'),
    countOnly: field(9, 'bool'),
  }),
  RangeResponse: fields({ header, kvs: list(2, 'mvccpb.KeyValue'), more: field(3, 'bool'), count: field(4, 'int64') }),
  PutRequest: fields({
    key: field(1, 'bytes'),
    value: field(2, 'bytes'),
    lease: field(3, 'int64'),
    ignoreValue: field(5, 'bool'),
  }),
  PutResponse: fields({ header }),
  DeleteRangeRequest: fields({ key: field(1, 'bytes'), rangeEnd: field(2, 'bytes') }),
  DeleteRangeResponse: fields({ header, deleted: field(2, 'int64') }),
  RequestOp: oneof('request', {
    requestRange: field(1, 'RangeRequest'),
    requestPut: field(2, 'PutRequest'),
    requestDeleteRange: field(3, 'DeleteRangeRequest'),
    requestTxn: field(4, 'TxnRequest'),
  }),
  ResponseOp: oneof('response', {
    responseRange: field(1, 'RangeResponse'),
    responsePut: field(2, 'PutResponse'),
    responseDeleteRange: field(3, 'DeleteRangeResponse'),
    responseTxn: field(4, 'TxnResponse'),
  }),
  CompareResult: { values: { EQUAL: 0, GREATER: 1, LESS: 2, NOT_EQUAL: 3 } },
  CompareTarget: { values: { VERSION: 0, CREATE: 1, MOD: 2, VALUE: 3, LEASE: 4 } },
  Compare: {
    oneofs: { targetUnion: { oneof: Object.keys(compareValues) } },
    fields: {
      result: field(1, 'CompareResult'),
      target: field(2, 'CompareTarget'),
      key: field(3, 'bytes'),
      ...compareValues,
    },
  },
  TxnRequest: fields({ compare: list(1, 'Compare'), success: list(2, 'RequestOp'), failure: list(3, 'RequestOp') }),
  TxnResponse: fields({ header, succeeded: field(2, 'bool'), responses: list(3, 'ResponseOp') }),
  CompactionRequest: fields({ revision: field(1, 'int64'), physical: field(2, 'bool') }),
  CompactionResponse: fields({ header }),
  KV: {
    methods: {
      Range: call('RangeRequest', 'RangeResponse'),
      Txn: call('TxnRequest', 'TxnResponse'),
      Compact: call('CompactionRequest', 'CompactionResponse'),
    },
  },
};

const watch = {
  WatchCreateRequest: fields({ key: field(1, 'bytes'), rangeEnd: field(2, 'bytes'), startRevision: field(3, 'int64') }),
  WatchRequest: oneof('requestUnion', { createRequest: field(1, 'WatchCreateRequest') }),
  WatchResponse: fields({
    header,
    watchId: field(2, 'int64'),
    created: field(3, 'bool'),
    canceled: field(4, 'bool'),
    compactRevision: field(5, 'int64'),
    cancelReason: field(6, 'string'),
    events: list(11, 'mvccpb.Event'),
  }),
  Watch: { methods: { Watch: streams('WatchRequest', 'WatchResponse') } },
};

const lease = {
  LeaseGrantRequest: fields({ TTL: field(1, 'int64'), ID: field(2, 'int64') }),
  LeaseGrantResponse: fields({ header, ID: field(2, 'int64'), TTL: field(3, 'int64'), error: field(4, 'string') }),
  LeaseRevokeRequest: fields({ ID: field(1, 'int64') }),
  LeaseRevokeResponse: fields({ header }),
  LeaseKeepAliveRequest: fields({ ID: field(1, 'int64') }),
  LeaseKeepAliveResponse: fields({ header, ID: field(2, 'int64'), TTL: field(3, 'int64') }),
  Lease: {
    methods: {
      LeaseGrant: call('LeaseGrantRequest', 'LeaseGrantResponse'),
      LeaseRevoke: call('LeaseRevokeRequest', 'LeaseRevokeResponse'),
      LeaseKeepAlive: streams('LeaseKeepAliveRequest', 'LeaseKeepAliveResponse'),
    },
  },
};

const maintenance = {
  AlarmType: { values: { NONE: 0, NOSPACE: 1, CORRUPT: 2 } },
  AlarmAction: { values: { GET: 0, ACTIVATE: 1, DEACTIVATE: 2 } },
  AlarmRequest: fields({ action: field(1, 'AlarmAction'), memberID: field(2, 'uint64'), alarm: field(3, 'AlarmType') }),
  AlarmMember: fields({ memberID: field(1, 'uint64'), alarm: field(2, 'AlarmType') }),
  AlarmResponse: fields({ header, alarms: list(2, 'AlarmMember') }),
  StatusRequest: fields({}),
  StatusResponse: fields({
    header,
    version: field(2, 'string'),
    dbSize: field(3, 'int64'),
    leader: field(4, 'uint64'),
    dbSizeInUse: field(9, 'int64'),
    isLearner: field(10, 'bool'),
  }),
  DefragmentRequest: fields({}),
  DefragmentResponse: fields({ header }),
  MoveLeaderRequest: fields({ targetID: field(1, 'uint64') }),
  MoveLeaderResponse: fields({ header }),
  Maintenance: {
    methods: {
      Alarm: call('AlarmRequest', 'AlarmResponse'),
      Status: call('StatusRequest', 'StatusResponse'),
      Defragment: call('DefragmentRequest', 'DefragmentResponse'),
      MoveLeader: call('MoveLeaderRequest', 'MoveLeaderResponse'),
    },
  },
};

const members = { header, members: list(2, 'Member') };
const cluster = {
  Member: fields({
    ID: field(1, 'uint64'),
    name: field(2, 'string'),
    peerURLs: list(3, 'string'),
    clientURLs: list(4, 'string'),
    isLearner: field(5, 'bool'),
  }),
  MemberListRequest: fields({}),
  MemberListResponse: fields(members),
  MemberAddRequest: fields({ peerURLs: list(1, 'string'), isLearner: field(2, 'bool') }),
  MemberAddResponse: fields({ header, member: field(2, 'Member'), members: list(3, 'Member') }),
  MemberRemoveRequest: fields({ ID: field(1, 'uint64') }),
  MemberRemoveResponse: fields(members),
  MemberPromoteRequest: fields({ ID: field(1, 'uint64') }),
  MemberPromoteResponse: fields(members),
  Cluster: {
    methods: {
      MemberList: call('MemberListRequest', 'MemberListResponse'),
      MemberAdd: call('MemberAddRequest', 'MemberAddResponse'),
      MemberRemove: call('MemberRemoveRequest', 'MemberRemoveResponse'),
      MemberPromote: call('MemberPromoteRequest', 'MemberPromoteResponse'),
    },
  },
};

const auth = {
  AuthenticateRequest: fields({ name: field(1, 'string'), password: field(2, 'string') }),
  AuthenticateResponse: fields({ header, token: field(2, 'string') }),
  Auth: { methods: { Authenticate: call('AuthenticateRequest', 'AuthenticateResponse') } },
};

const responseHeader = {
  ResponseHeader: fields({
    clusterId: field(1, 'uint64'),
    memberId: field(2, 'uint64'),
    revision: field(3, 'int64'),
    raftTerm: field(4, 'uint64'),
  }),
};

export const etcdDescriptor = {
  options: { syntax: 'proto3' },
  nested: {
    mvccpb: { nested: keyValue },
    etcdserverpb: { nested: { ...responseHeader, ...kv, ...watch, ...lease, ...maintenance, ...cluster, ...auth } },
  },
};
