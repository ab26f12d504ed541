// The table of Terraform features that gantry does not evaluate: code, meaning and remedy of each. Messages and the list of
// `gantry explain terraform` come from it.
import type { RefusalCode } from './expression/syntax.ts';

/** Changes whenever a text that was evaluated would now be refused, or mean something else. */
export const subsetVersion = 5;

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
  | 'E_VERSION'
  | 'E_TIME';

export type Code = RefusalCode | StructureCode;

export const rows: Readonly<Record<Code, readonly [what: string, hint: string]>> = {
  E_SYNTAX: ['a text that is no expression', 'correct the expression; a literal ${ is written $${'],
  E_PROVIDER_FUNCTION: ['functions of other providers', 'write the result, or compute it in a local'],
  E_FUNCTION: [
    'functions whose result is another one each time, and those that Terraform does not have',
    'compute the value before synthesis, or give it as a variable',
  ],
  E_REFERENCE: ['references to things that are not there', 'declare it, or correct the name'],
  E_TYPE: [
    'values of another type than an operator or function takes',
    'convert it, for instance with tostring() or tonumber()',
  ],
  E_VALUE: ['values that an operator or function cannot take', 'correct the value, or guard it with try()'],
  E_BIG_NUMBER: ['numbers that are not kept exactly', 'write it as a string'],
  E_TIME: [
    'configurations whose evaluation needs too much time or memory',
    'simplify nested for expressions, and regular expressions that repeat repetitions',
  ],
  E_FOREIGN_RESOURCE: ['resources of other providers', 'apply them with Terraform, in a stack of their own'],
  E_UNKNOWN_RESOURCE: [
    'resource types of ours that are no desired state',
    'see the list of types in the documentation',
  ],
  E_DATA: [
    'data sources of other providers, and those that find nothing',
    'refer to an object that is there by its name, or give the value as a variable',
  ],
  E_MODULE: [
    'modules that are not Terraform JSON in a folder here',
    'put the module into a folder below, as *.tf.json, and give its path: ./net',
  ],
  E_REMOTE_STATE: ['outputs of other stacks', 'give the value as a variable'],
  E_BACKEND: ['backends', 'take the backend away: gantry keeps what it owns on the server'],
  E_PROVISIONER: ['provisioners and connections', 'use files and exec of the container'],
  E_DYNAMIC: ['dynamic blocks', 'write the blocks, or a for expression where an attribute takes a list or a map'],
  E_EPHEMERAL: ['ephemeral resources', 'give the value as a variable'],
  E_REMOVED: [
    'removed blocks that keep the object, or whose resource is still there',
    'remove the block, and run gantry release for the objects to keep',
  ],
  E_CREATE_BEFORE_DESTROY: [
    'create_before_destroy',
    'names are unique on a server, so both cannot be there: take it away',
  ],
  E_REPLACE_TRIGGER: ['replace_triggered_by', 'run with --replace KIND/NAME to recreate the object'],
  E_POSTCONDITION: ['postconditions that fail', 'correct what the message says'],
  E_PRECONDITION: ['preconditions that fail', 'correct what the message says'],
  E_IGNORE_ALL: ['ignore_changes of an unknown attribute', 'name attributes: config, config["limits.cpu"], devices'],
  E_BLOCK: ['blocks that Terraform does not have', 'correct the name'],
  E_SHAPE: ['JSON of another shape than Terraform takes', 'compare it with the JSON syntax of Terraform'],
  E_DUPLICATE: ['names that are given twice', 'keep one of the two'],
  E_CYCLE: ['things that refer to each other in a circle', 'take one of the references away'],
  E_COUNT: [
    'count and for_each with an unusable value',
    'count takes a whole number, for_each a map or a set of strings',
  ],
  E_UNKNOWN_VALUE: [
    'values that are known after an apply only',
    'use what is written in the configuration, such as the name',
  ],
  E_NO_VALUE: [
    'variables without a value',
    'give it with --var NAME=VALUE, TF_VAR_NAME, terraform.tfvars, or a default',
  ],
  E_VARIABLE: ['values that a variable cannot take', 'correct the value, the type or the rule'],
  E_ARGUMENT: ['arguments that the resource does not have', 'correct the name'],
  E_PROVIDER: [
    'resources of several servers',
    'make a stack of the resources of each server, and apply each with its own --host',
  ],
  E_PART: [
    'files, commands and snapshots of containers that the configuration does not declare',
    'declare the container in the same configuration, or use Terraform for this one',
  ],
  E_OVERRIDE: [
    'override files for blocks that do not exist or cannot be overridden',
    'override arguments of blocks that the other files have',
  ],
  E_VERSION: ['versions that the configuration excludes', 'loosen the constraint, or use Terraform'],
  E_IMPORT: ['imports under another name', 'the id must end with the name of the resource'],
};
