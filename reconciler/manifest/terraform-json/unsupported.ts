// The table of Terraform features that gantry does not evaluate: code, meaning and remedy of each. Messages and the list of
// `gantry explain terraform` come from it.
import type { RefusalCode } from './expression/syntax.ts';

/** Changes whenever a text that was evaluated would now be refused, or mean something else. */
export const subsetVersion = 4;

export type StructureCode =
  | 'E_FOREIGN_RESOURCE'
  | 'E_UNKNOWN_RESOURCE'
  | 'E_DATA'
  | 'E_MODULE'
  | 'E_REMOTE_STATE'
  | 'E_BACKEND'
  | 'E_PROVISIONER'
  | 'E_DYNAMIC'
  | 'E_EPHEMERAL'
  | 'E_REMOVED'
  | 'E_CREATE_BEFORE_DESTROY'
  | 'E_REPLACE_TRIGGER'
  | 'E_POSTCONDITION'
  | 'E_PRECONDITION'
  | 'E_IGNORE_ALL'
  | 'E_BLOCK'
  | 'E_SHAPE'
  | 'E_DUPLICATE'
  | 'E_CYCLE'
  | 'E_COUNT'
  | 'E_UNKNOWN_VALUE'
  | 'E_NO_VALUE'
  | 'E_VARIABLE'
  | 'E_ARGUMENT'
  | 'E_IMPORT'
  | 'E_PROVIDER'
  | 'E_PART'
  | 'E_OVERRIDE'
  | 'E_VERSION';

export type Code = RefusalCode | StructureCode;

interface Row {
  readonly what: string;
  readonly hint: string;
}

export const rows: Readonly<Record<Code, Row>> = {
  E_SYNTAX: { what: 'a text that is no expression', hint: 'correct the expression; a literal ${ is written $${' },
  E_PROVIDER_FUNCTION: { what: 'functions of other providers', hint: 'write the result, or compute it in a local' },
  E_FUNCTION: {
    what: 'functions whose result is another one each time, and those that Terraform does not have',
    hint: 'compute the value before synthesis, or give it as a variable',
  },
  E_REFERENCE: { what: 'references to things that are not there', hint: 'declare it, or correct the name' },
  E_TYPE: {
    what: 'values of another type than an operator or function takes',
    hint: 'convert it, for instance with tostring() or tonumber()',
  },
  E_VALUE: {
    what: 'values that an operator or function cannot take',
    hint: 'correct the value, or guard it with try()',
  },
  E_SET_OR_LIST: {
    what: 'a set and a computed list as the two results of a condition',
    hint: 'make both one or the other, with toset() or tolist()',
  },
  E_BIG_NUMBER: { what: 'numbers that are not kept exactly', hint: 'write it as a string' },
  E_FOREIGN_RESOURCE: {
    what: 'resources of other providers',
    hint: 'apply them with Terraform, in a stack of their own',
  },
  E_UNKNOWN_RESOURCE: {
    what: 'resource types of ours that are no desired state',
    hint: 'see the list of types in the documentation',
  },
  E_DATA: {
    what: 'data sources of other providers, and those that find nothing',
    hint: 'refer to an object that is there by its name, or give the value as a variable',
  },
  E_MODULE: {
    what: 'modules that are not Terraform JSON in a folder here',
    hint: 'put the module into a folder below, as *.tf.json, and give its path: ./net',
  },
  E_REMOTE_STATE: { what: 'outputs of other stacks', hint: 'give the value as a variable' },
  E_BACKEND: { what: 'backends', hint: 'take the backend away: gantry keeps what it owns on the server' },
  E_PROVISIONER: { what: 'provisioners and connections', hint: 'use files and exec of the container' },
  E_DYNAMIC: {
    what: 'dynamic blocks',
    hint: 'write the blocks, or a for expression where an attribute takes a list or a map',
  },
  E_EPHEMERAL: { what: 'ephemeral resources', hint: 'give the value as a variable' },
  E_REMOVED: {
    what: 'removed blocks that keep the object, or whose resource is still there',
    hint: 'remove the block, and run gantry release for the objects to keep',
  },
  E_CREATE_BEFORE_DESTROY: {
    what: 'create_before_destroy',
    hint: 'names are unique on a server, so both cannot be there: take it away',
  },
  E_REPLACE_TRIGGER: { what: 'replace_triggered_by', hint: 'run with --replace KIND/NAME to recreate the object' },
  E_POSTCONDITION: { what: 'postconditions that fail', hint: 'correct what the message says' },
  E_PRECONDITION: { what: 'preconditions that fail', hint: 'correct what the message says' },
  E_IGNORE_ALL: {
    what: 'ignore_changes of an unknown attribute',
    hint: 'name attributes: config, config["limits.cpu"], devices',
  },
  E_BLOCK: { what: 'blocks that Terraform does not have', hint: 'correct the name' },
  E_SHAPE: { what: 'JSON of another shape than Terraform takes', hint: 'compare it with the JSON syntax of Terraform' },
  E_DUPLICATE: { what: 'names that are given twice', hint: 'keep one of the two' },
  E_CYCLE: { what: 'things that refer to each other in a circle', hint: 'take one of the references away' },
  E_COUNT: {
    what: 'count and for_each with an unusable value',
    hint: 'count takes a whole number, for_each a map or a set of strings',
  },
  E_UNKNOWN_VALUE: {
    what: 'values that are known after an apply only',
    hint: 'use what is written in the configuration, such as the name',
  },
  E_NO_VALUE: {
    what: 'variables without a value',
    hint: 'give it with --var NAME=VALUE, TF_VAR_NAME, terraform.tfvars, or a default',
  },
  E_VARIABLE: { what: 'values that a variable cannot take', hint: 'correct the value, the type or the rule' },
  E_ARGUMENT: { what: 'arguments that the resource does not have', hint: 'correct the name' },
  E_PROVIDER: {
    what: 'resources of several servers',
    hint: 'make a stack of the resources of each server, and apply each with its own --host',
  },
  E_PART: {
    what: 'files, commands and snapshots of containers that the configuration does not declare',
    hint: 'declare the container in the same configuration, or use Terraform for this one',
  },
  E_OVERRIDE: {
    what: 'override files for blocks that do not exist or cannot be overridden',
    hint: 'override arguments of blocks that the other files have',
  },
  E_VERSION: { what: 'versions that the configuration excludes', hint: 'loosen the constraint, or use Terraform' },
  E_IMPORT: { what: 'imports under another name', hint: 'the id must end with the name of the resource' },
};
