// The messages of the Terraform plugin protocol, version 6, with our names and the protocol's numbers. Lists only fields in use; the
// codec skips all others.
import {
  bytes,
  defineMessage,
  flag,
  integer,
  mapped,
  message,
  optional,
  repeated,
  text,
  type Field,
  type Message,
} from '../../server/lib/shared/protobuf.ts';

export const DynamicValue = defineMessage({ msgpack: bytes(1), json: bytes(2) });
const dynamic = (number: number) => message(number, () => DynamicValue);

export const PathStep = defineMessage({
  attribute: optional(text(1)),
  key: optional(text(2)),
  index: optional(integer(3)),
});
export const AttributePath = defineMessage({ steps: repeated(message(1, () => PathStep)) });

export const severities = { error: 1, warning: 2 } as const;
export const Diagnostic = defineMessage({
  severity: integer(1),
  summary: text(2),
  detail: text(3),
  attribute: message(4, () => AttributePath),
});
const diagnostics = (number: number) => repeated(message(number, () => Diagnostic));

export const RawState = defineMessage({ json: bytes(1) });

/** 1 markdown, 0 plain. */
export const markdown = 1;
export const nestings = { single: 1, list: 2, map: 4 } as const;

/** Declared explicitly, because the type is recursive. */
export interface WireAttribute {
  readonly name: string;
  readonly type: Uint8Array;
  readonly doc: string;
  readonly required: boolean;
  readonly optional: boolean;
  readonly computed: boolean;
  readonly sensitive: boolean;
  readonly docKind: number;
  readonly writeOnly: boolean;
  readonly nested: { readonly attributes: readonly WireAttribute[]; readonly nesting: number } | undefined;
}
type WireAttributeFields = { readonly [Name in keyof WireAttribute]: Field<WireAttribute[Name]> };

export const SchemaAttribute: Message<WireAttributeFields> = defineMessage({
  name: text(1),
  type: bytes(2),
  doc: text(3),
  required: flag(4),
  optional: flag(5),
  computed: flag(6),
  sensitive: flag(7),
  docKind: integer(8),
  writeOnly: flag(11),
  nested: message(10, () => NestedType),
});
const NestedType: Message<{ readonly attributes: Field<readonly WireAttribute[]>; readonly nesting: Field<number> }> =
  defineMessage({ attributes: repeated(message(1, () => SchemaAttribute)), nesting: integer(3) });

const Block = defineMessage({
  version: integer(1),
  attributes: repeated(message(2, () => SchemaAttribute)),
  doc: text(4),
  docKind: integer(5),
});
export const Schema = defineMessage({ version: integer(1), block: message(2, () => Block) });

const ActionSchema = defineMessage({ schema: message(1, () => Schema) });

export const IdentityAttribute = defineMessage({
  name: text(1),
  type: bytes(2),
  requiredForImport: flag(3),
  optionalForImport: flag(4),
  doc: text(5),
});
export const IdentitySchema = defineMessage({
  version: integer(1),
  attributes: repeated(message(2, () => IdentityAttribute)),
});
export const Identity = defineMessage({ data: dynamic(1) });
const identity = (number: number) => message(number, () => Identity);

const Parameter = defineMessage({ name: text(1), type: bytes(2), doc: text(5), docKind: integer(6) });
const Return = defineMessage({ type: bytes(1) });
export const FunctionDefinition = defineMessage({
  parameters: repeated(message(1, () => Parameter)),
  returns: message(3, () => Return),
  summary: text(4),
  doc: text(5),
  docKind: integer(6),
});
export const FunctionFailure = defineMessage({ text: text(1), argument: optional(integer(2)) });

const ServerCapabilities = defineMessage({ planDestroy: flag(1), schemaOptional: flag(2), moveState: flag(3) });
const capabilities = (number: number) => message(number, () => ServerCapabilities);
const ClientCapabilities = defineMessage({ deferral: flag(1), writeOnly: flag(2) });
const clientCapabilities = (number: number) => message(number, () => ClientCapabilities);

const TypeName = defineMessage({ name: text(1) });
export const MetadataReply = defineMessage({
  capabilities: capabilities(1),
  diagnostics: diagnostics(2),
  dataSources: repeated(message(3, () => TypeName)),
  resources: repeated(message(4, () => TypeName)),
  functions: repeated(message(5, () => TypeName)),
  ephemeralResources: repeated(message(6, () => TypeName)),
  listResources: repeated(message(7, () => TypeName)),
  actions: repeated(message(9, () => TypeName)),
});
export const SchemaReply = defineMessage({
  provider: message(1, () => Schema),
  resources: mapped(2, () => Schema),
  dataSources: mapped(3, () => Schema),
  diagnostics: diagnostics(4),
  capabilities: capabilities(6),
  functions: mapped(7, () => FunctionDefinition),
  ephemeralResources: mapped(8, () => Schema),
  listResources: mapped(9, () => Schema),
  actions: mapped(11, () => ActionSchema),
});
export const IdentitySchemasReply = defineMessage({
  schemas: mapped(1, () => IdentitySchema),
  diagnostics: diagnostics(2),
});

export const ConfigRequest = defineMessage({ config: dynamic(1), clientCapabilities: clientCapabilities(2) });
export const TypedConfigRequest = defineMessage({
  typeName: text(1),
  config: dynamic(2),
  clientCapabilities: clientCapabilities(3),
});
export const ConfigureRequest = defineMessage({ terraformVersion: text(1), config: dynamic(2) });
/** Also the answer to configuring. */
export const DiagnosticsReply = defineMessage({ diagnostics: diagnostics(1) });
export const ValidateProviderReply = defineMessage({ diagnostics: diagnostics(2) });

export const UpgradeRequest = defineMessage({
  typeName: text(1),
  version: integer(2),
  raw: message(3, () => RawState),
});
export const UpgradeReply = defineMessage({ state: dynamic(1), diagnostics: diagnostics(2) });
export const UpgradeIdentityReply = defineMessage({ identity: identity(1), diagnostics: diagnostics(2) });

export const ReadRequest = defineMessage({
  typeName: text(1),
  state: dynamic(2),
  privateData: bytes(3),
  identity: identity(6),
});
export const ReadReply = defineMessage({
  state: dynamic(1),
  diagnostics: diagnostics(2),
  privateData: bytes(3),
  identity: identity(5),
});

export const PlanRequest = defineMessage({
  typeName: text(1),
  prior: dynamic(2),
  config: dynamic(4),
  privateData: bytes(5),
  identity: identity(8),
});
export const PlanReply = defineMessage({
  planned: dynamic(1),
  replace: repeated(message(2, () => AttributePath)),
  privateData: bytes(3),
  diagnostics: diagnostics(4),
  identity: identity(7),
});

export const ApplyRequest = defineMessage({
  typeName: text(1),
  prior: dynamic(2),
  planned: dynamic(3),
  config: dynamic(4),
  privateData: bytes(5),
});
export const ApplyReply = defineMessage({
  state: dynamic(1),
  privateData: bytes(2),
  diagnostics: diagnostics(3),
  identity: identity(5),
});

export const ImportRequest = defineMessage({ typeName: text(1), id: text(2), identity: identity(4) });
const Imported = defineMessage({ typeName: text(1), state: dynamic(2), privateData: bytes(3), identity: identity(4) });
export const ImportReply = defineMessage({
  imported: repeated(message(1, () => Imported)),
  diagnostics: diagnostics(2),
});

export const MoveRequest = defineMessage({
  provider: text(1),
  type: text(2),
  version: integer(3),
  raw: message(4, () => RawState),
  target: text(5),
});
export const MoveReply = defineMessage({
  state: dynamic(1),
  diagnostics: diagnostics(2),
  privateData: bytes(3),
  identity: identity(4),
});

export const ReadDataRequest = defineMessage({ typeName: text(1), config: dynamic(2) });
export const ReadDataReply = defineMessage({ state: dynamic(1), diagnostics: diagnostics(2) });

export const FunctionsReply = defineMessage({
  functions: mapped(1, () => FunctionDefinition),
  diagnostics: diagnostics(2),
});
export const CallRequest = defineMessage({ name: text(1), values: repeated(dynamic(2)) });
export const CallReply = defineMessage({ result: dynamic(1), failure: message(2, () => FunctionFailure) });

const Timestamp = defineMessage({ seconds: integer(1), nanoseconds: integer(2) });
export const OpenRequest = defineMessage({ typeName: text(1), config: dynamic(2) });
export const OpenReply = defineMessage({
  diagnostics: diagnostics(1),
  renewAt: message(2, () => Timestamp),
  result: dynamic(3),
  privateData: bytes(4),
});
/** Also the answer to closing. */
export const RenewRequest = defineMessage({ typeName: text(1), privateData: bytes(2) });
export const RenewReply = defineMessage({
  diagnostics: diagnostics(1),
  renewAt: message(2, () => Timestamp),
  privateData: bytes(3),
});

export const ListRequest = defineMessage({
  typeName: text(1),
  config: dynamic(2),
  includesObject: flag(3),
  limit: integer(4),
});
export const ListEvent = defineMessage({
  identity: identity(1),
  title: text(2),
  object: dynamic(3),
  diagnostics: diagnostics(4),
});

/** Also the request to run it. */
export const ActionRequest = defineMessage({ typeName: text(1), config: dynamic(2) });
const Progress = defineMessage({ line: text(1) });
export const ActionEvent = defineMessage({
  progress: message(1, () => Progress),
  /** The end. */
  completed: message(2, () => DiagnosticsReply),
});

export const StopReply = defineMessage({ error: text(1) });
