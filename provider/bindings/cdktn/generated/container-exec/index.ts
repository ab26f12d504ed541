// https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec
// generated from terraform resource schema

import { Construct } from 'constructs';
import * as cdktn from 'cdktn';

// Configuration

export interface ContainerExecConfig extends cdktn.TerraformMetaArguments {
  /**
  * Name of the container, which must run. A rename does not run the command again.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#container ContainerExec#container}
  */
  readonly container: string;
  /**
  * Command and arguments. A change runs the command again.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#command ContainerExec#command}
  */
  readonly command: string[];
  /**
  * Environment variables, in addition to those of the container. A change runs the command again.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#environment ContainerExec#environment}
  */
  readonly environment?: { [key: string]: string };
  /**
  * Environment variables that are never stored, for secrets; they override `environment`. Only `command` gets them. Raise `environment_wo_version` to run the command again with other values.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#environment_wo ContainerExec#environment_wo}
  */
  readonly environmentWo?: { [key: string]: string };
  /**
  * Any number; a change runs the command again.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#environment_wo_version ContainerExec#environment_wo_version}
  */
  readonly environmentWoVersion?: number;
  /**
  * Directory to run in.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#cwd ContainerExec#cwd}
  */
  readonly cwd?: string;
  /**
  * User id in the container.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#user ContainerExec#user}
  */
  readonly user?: number;
  /**
  * Group id in the container.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#group ContainerExec#group}
  */
  readonly group?: number;
  /**
  * Any values; a change replaces the object, which runs the command again.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#triggers ContainerExec#triggers}
  */
  readonly triggers?: { [key: string]: string };
  /**
  * Command to run on destroy, if the container still runs.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#destroy_command ContainerExec#destroy_command}
  */
  readonly destroyCommand?: string[];
  /**
  * Whether an exit code other than 0 fails the apply.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#fail_on_error ContainerExec#fail_on_error}
  */
  readonly failOnError?: boolean | cdktn.IResolvable;
  /**
  * Whether the state keeps the output (`stdout`, `stderr`), in which secrets may be, from the next run on. Default: false.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#record_output ContainerExec#record_output}
  */
  readonly recordOutput?: boolean | cdktn.IResolvable;
  /**
  * Time limit of the run.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#timeout ContainerExec#timeout}
  */
  readonly timeout?: string;
  /**
  * Time limits of operations.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#timeouts ContainerExec#timeouts}
  */
  readonly timeouts?: ContainerExecTimeouts;
  /**
  * The server of the object: a name from the provider's `remotes`. Default: the server of the provider block. A change replaces the object.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#remote ContainerExec#remote}
  */
  readonly remote?: string;
  /**
  * Project of the object, on servers with projects. Default: the project of the provider. A change replaces the object.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#project ContainerExec#project}
  */
  readonly project?: string;
}
export interface ContainerExecTimeouts {
  /**
  * Time limit of create, such as 90s or 10m.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#create ContainerExec#create}
  */
  readonly create?: string;
  /**
  * Time limit of read, such as 90s or 10m.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#read ContainerExec#read}
  */
  readonly read?: string;
  /**
  * Time limit of update, such as 90s or 10m.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#update ContainerExec#update}
  */
  readonly update?: string;
  /**
  * Time limit of delete, such as 90s or 10m.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#delete ContainerExec#delete}
  */
  readonly delete?: string;
}

export function containerExecTimeoutsToTerraform(struct?: ContainerExecTimeouts | cdktn.IResolvable): any {
  if (!cdktn.canInspect(struct) || cdktn.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktn.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdktn.io/docs/concepts/resources#references");
  }
  return {
    create: cdktn.stringToTerraform(struct!.create),
    read: cdktn.stringToTerraform(struct!.read),
    update: cdktn.stringToTerraform(struct!.update),
    delete: cdktn.stringToTerraform(struct!.delete),
  }
}


export function containerExecTimeoutsToHclTerraform(struct?: ContainerExecTimeouts | cdktn.IResolvable): any {
  if (!cdktn.canInspect(struct) || cdktn.Tokenization.isResolvable(struct)) { return struct; }
  if (cdktn.isComplexElement(struct)) {
    throw new Error("A complex element was used as configuration, this is not supported: https://cdktn.io/docs/concepts/resources#references");
  }
  const attrs = {
    create: {
      value: cdktn.stringToHclTerraform(struct!.create),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    read: {
      value: cdktn.stringToHclTerraform(struct!.read),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    update: {
      value: cdktn.stringToHclTerraform(struct!.update),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
    delete: {
      value: cdktn.stringToHclTerraform(struct!.delete),
      isBlock: false,
      type: "simple",
      storageClassType: "string",
    },
  };

  // remove undefined attributes
  return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined));
}

export class ContainerExecTimeoutsOutputReference extends cdktn.ComplexObject {
  private isEmptyObject = false;
  private resolvableValue?: cdktn.IResolvable;

  /**
  * @param terraformResource The parent resource
  * @param terraformAttribute The attribute on the parent resource this class is referencing
  */
  public constructor(terraformResource: cdktn.IInterpolatingParent, terraformAttribute: string) {
    super(terraformResource, terraformAttribute, false);
  }

  public get internalValue(): ContainerExecTimeouts | cdktn.IResolvable | undefined {
    if (this.resolvableValue) {
      return this.resolvableValue;
    }
    let hasAnyValues = this.isEmptyObject;
    const internalValueResult: any = {};
    if (this._create !== undefined) {
      hasAnyValues = true;
      internalValueResult.create = this._create;
    }
    if (this._read !== undefined) {
      hasAnyValues = true;
      internalValueResult.read = this._read;
    }
    if (this._update !== undefined) {
      hasAnyValues = true;
      internalValueResult.update = this._update;
    }
    if (this._delete !== undefined) {
      hasAnyValues = true;
      internalValueResult.delete = this._delete;
    }
    return hasAnyValues ? internalValueResult : undefined;
  }

  public set internalValue(value: ContainerExecTimeouts | cdktn.IResolvable | undefined) {
    if (value === undefined) {
      this.isEmptyObject = false;
      this.resolvableValue = undefined;
      this._create = undefined;
      this._read = undefined;
      this._update = undefined;
      this._delete = undefined;
    }
    else if (cdktn.Tokenization.isResolvable(value)) {
      this.isEmptyObject = false;
      this.resolvableValue = value;
    }
    else {
      this.isEmptyObject = Object.keys(value).length === 0;
      this.resolvableValue = undefined;
      this._create = value.create;
      this._read = value.read;
      this._update = value.update;
      this._delete = value.delete;
    }
  }

  // create - computed: false, optional: true, required: false
  private _create?: string; 
  public get create() {
    return this.getStringAttribute('create');
  }
  public set create(value: string) {
    this._create = value;
  }
  public resetCreate() {
    this._create = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get createInput() {
    return this._create;
  }

  // read - computed: false, optional: true, required: false
  private _read?: string; 
  public get read() {
    return this.getStringAttribute('read');
  }
  public set read(value: string) {
    this._read = value;
  }
  public resetRead() {
    this._read = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get readInput() {
    return this._read;
  }

  // update - computed: false, optional: true, required: false
  private _update?: string; 
  public get update() {
    return this.getStringAttribute('update');
  }
  public set update(value: string) {
    this._update = value;
  }
  public resetUpdate() {
    this._update = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get updateInput() {
    return this._update;
  }

  // delete - computed: false, optional: true, required: false
  private _delete?: string; 
  public get delete() {
    return this.getStringAttribute('delete');
  }
  public set delete(value: string) {
    this._delete = value;
  }
  public resetDelete() {
    this._delete = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get deleteInput() {
    return this._delete;
  }
}

/**
* Represents a {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec gantry_container_exec}
*/
export class ContainerExec extends cdktn.TerraformResource {

  // =================
  // STATIC PROPERTIES
  // =================
  public static readonly tfResourceType = "gantry_container_exec";

  // ==============
  // STATIC Methods
  // ==============
  /**
  * Generates CDKTN code for importing a ContainerExec resource upon running "cdktn plan <stack-name>"
  * @param scope The scope in which to define this construct
  * @param importToId The construct id used in the generated config for the ContainerExec to import
  * @param importFromId The id of the existing ContainerExec that should be imported. Refer to the {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec#import import section} in the documentation of this resource for the id to use
  * @param provider? Optional instance of the provider where the ContainerExec to import is found
  */
  public static generateConfigForImport(scope: Construct, importToId: string, importFromId: string, provider?: cdktn.TerraformProvider) {
        return new cdktn.ImportableResource(scope, importToId, { terraformResourceType: "gantry_container_exec", importId: importFromId, provider });
      }

  // ===========
  // INITIALIZER
  // ===========

  /**
  * Create a new {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/resources/container_exec gantry_container_exec} Resource
  *
  * @param scope The scope in which to define this construct
  * @param id The scoped construct ID. Must be unique amongst siblings in the same scope
  * @param options ContainerExecConfig
  */
  public constructor(scope: Construct, id: string, config: ContainerExecConfig) {
    super(scope, id, {
      terraformResourceType: 'gantry_container_exec',
      terraformGeneratorMetadata: {
        providerName: 'gantry',
        providerVersionConstraint: '~> 0.1'
      },
      provider: config.provider,
      dependsOn: config.dependsOn,
      count: config.count,
      lifecycle: config.lifecycle,
      provisioners: config.provisioners,
      connection: config.connection,
      forEach: config.forEach
    });
    this._container = config.container;
    this._command = config.command;
    this._environment = config.environment;
    this._environmentWo = config.environmentWo;
    this._environmentWoVersion = config.environmentWoVersion;
    this._cwd = config.cwd;
    this._user = config.user;
    this._group = config.group;
    this._triggers = config.triggers;
    this._destroyCommand = config.destroyCommand;
    this._failOnError = config.failOnError;
    this._recordOutput = config.recordOutput;
    this._timeout = config.timeout;
    this._timeouts.internalValue = config.timeouts;
    this._remote = config.remote;
    this._project = config.project;
  }

  // ==========
  // ATTRIBUTES
  // ==========

  // container - computed: false, optional: false, required: true
  private _container?: string; 
  public get container() {
    return this.getStringAttribute('container');
  }
  public set container(value: string) {
    this._container = value;
  }
  // Temporarily expose input value. Use with caution.
  public get containerInput() {
    return this._container;
  }

  // command - computed: false, optional: false, required: true
  private _command?: string[]; 
  public get command() {
    return this.getListAttribute('command');
  }
  public set command(value: string[]) {
    this._command = value;
  }
  // Temporarily expose input value. Use with caution.
  public get commandInput() {
    return this._command;
  }

  // environment - computed: false, optional: true, required: false
  private _environment?: { [key: string]: string }; 
  public get environment() {
    return this.getStringMapAttribute('environment');
  }
  public set environment(value: { [key: string]: string }) {
    this._environment = value;
  }
  public resetEnvironment() {
    this._environment = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get environmentInput() {
    return this._environment;
  }

  // environment_wo - computed: false, optional: true, required: false
  private _environmentWo?: { [key: string]: string }; 
  /**
  * @deprecated Write-only: the provider never returns this value; reading it always yields null by protocol contract. The getter remains for compatibility and will be removed in a future prebuilt-provider major.
  */
  public get environmentWo() {
    return this.getStringMapAttribute('environment_wo');
  }
  public set environmentWo(value: { [key: string]: string }) {
    this._environmentWo = value;
  }
  public resetEnvironmentWo() {
    this._environmentWo = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get environmentWoInput() {
    return this._environmentWo;
  }

  // environment_wo_version - computed: false, optional: true, required: false
  private _environmentWoVersion?: number; 
  public get environmentWoVersion() {
    return this.getNumberAttribute('environment_wo_version');
  }
  public set environmentWoVersion(value: number) {
    this._environmentWoVersion = value;
  }
  public resetEnvironmentWoVersion() {
    this._environmentWoVersion = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get environmentWoVersionInput() {
    return this._environmentWoVersion;
  }

  // cwd - computed: false, optional: true, required: false
  private _cwd?: string; 
  public get cwd() {
    return this.getStringAttribute('cwd');
  }
  public set cwd(value: string) {
    this._cwd = value;
  }
  public resetCwd() {
    this._cwd = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get cwdInput() {
    return this._cwd;
  }

  // user - computed: true, optional: true, required: false
  private _user?: number; 
  public get user() {
    return this.getNumberAttribute('user');
  }
  public set user(value: number) {
    this._user = value;
  }
  public resetUser() {
    this._user = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get userInput() {
    return this._user;
  }

  // group - computed: true, optional: true, required: false
  private _group?: number; 
  public get group() {
    return this.getNumberAttribute('group');
  }
  public set group(value: number) {
    this._group = value;
  }
  public resetGroup() {
    this._group = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get groupInput() {
    return this._group;
  }

  // triggers - computed: false, optional: true, required: false
  private _triggers?: { [key: string]: string }; 
  public get triggers() {
    return this.getStringMapAttribute('triggers');
  }
  public set triggers(value: { [key: string]: string }) {
    this._triggers = value;
  }
  public resetTriggers() {
    this._triggers = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get triggersInput() {
    return this._triggers;
  }

  // destroy_command - computed: false, optional: true, required: false
  private _destroyCommand?: string[]; 
  public get destroyCommand() {
    return this.getListAttribute('destroy_command');
  }
  public set destroyCommand(value: string[]) {
    this._destroyCommand = value;
  }
  public resetDestroyCommand() {
    this._destroyCommand = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get destroyCommandInput() {
    return this._destroyCommand;
  }

  // fail_on_error - computed: true, optional: true, required: false
  private _failOnError?: boolean | cdktn.IResolvable; 
  public get failOnError() {
    return this.getBooleanAttribute('fail_on_error');
  }
  public set failOnError(value: boolean | cdktn.IResolvable) {
    this._failOnError = value;
  }
  public resetFailOnError() {
    this._failOnError = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get failOnErrorInput() {
    return this._failOnError;
  }

  // record_output - computed: false, optional: true, required: false
  private _recordOutput?: boolean | cdktn.IResolvable; 
  public get recordOutput() {
    return this.getBooleanAttribute('record_output');
  }
  public set recordOutput(value: boolean | cdktn.IResolvable) {
    this._recordOutput = value;
  }
  public resetRecordOutput() {
    this._recordOutput = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get recordOutputInput() {
    return this._recordOutput;
  }

  // timeout - computed: true, optional: true, required: false
  private _timeout?: string; 
  public get timeout() {
    return this.getStringAttribute('timeout');
  }
  public set timeout(value: string) {
    this._timeout = value;
  }
  public resetTimeout() {
    this._timeout = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get timeoutInput() {
    return this._timeout;
  }

  // exit_code - computed: true, optional: false, required: false
  public get exitCode() {
    return this.getNumberAttribute('exit_code');
  }

  // stdout - computed: true, optional: false, required: false
  public get stdout() {
    return this.getStringAttribute('stdout');
  }

  // stderr - computed: true, optional: false, required: false
  public get stderr() {
    return this.getStringAttribute('stderr');
  }

  // timeouts - computed: false, optional: true, required: false
  private _timeouts = new ContainerExecTimeoutsOutputReference(this, "timeouts");
  public get timeouts() {
    return this._timeouts;
  }
  public putTimeouts(value: ContainerExecTimeouts) {
    this._timeouts.internalValue = value;
  }
  public resetTimeouts() {
    this._timeouts.internalValue = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get timeoutsInput() {
    return this._timeouts.internalValue;
  }

  // remote - computed: false, optional: true, required: false
  private _remote?: string; 
  public get remote() {
    return this.getStringAttribute('remote');
  }
  public set remote(value: string) {
    this._remote = value;
  }
  public resetRemote() {
    this._remote = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get remoteInput() {
    return this._remote;
  }

  // project - computed: true, optional: true, required: false
  private _project?: string; 
  public get project() {
    return this.getStringAttribute('project');
  }
  public set project(value: string) {
    this._project = value;
  }
  public resetProject() {
    this._project = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get projectInput() {
    return this._project;
  }

  // =========
  // SYNTHESIS
  // =========

  protected synthesizeAttributes(): { [name: string]: any } {
    return {
      container: cdktn.stringToTerraform(this._container),
      command: cdktn.listMapper(cdktn.stringToTerraform, false)(this._command),
      environment: cdktn.hashMapper(cdktn.stringToTerraform)(this._environment),
      environment_wo: this.markWriteOnlyAttribute(cdktn.hashMapper(cdktn.stringToTerraform)(this._environmentWo)),
      environment_wo_version: cdktn.numberToTerraform(this._environmentWoVersion),
      cwd: cdktn.stringToTerraform(this._cwd),
      user: cdktn.numberToTerraform(this._user),
      group: cdktn.numberToTerraform(this._group),
      triggers: cdktn.hashMapper(cdktn.stringToTerraform)(this._triggers),
      destroy_command: cdktn.listMapper(cdktn.stringToTerraform, false)(this._destroyCommand),
      fail_on_error: cdktn.booleanToTerraform(this._failOnError),
      record_output: cdktn.booleanToTerraform(this._recordOutput),
      timeout: cdktn.stringToTerraform(this._timeout),
      timeouts: containerExecTimeoutsToTerraform(this._timeouts.internalValue),
      remote: cdktn.stringToTerraform(this._remote),
      project: cdktn.stringToTerraform(this._project),
    };
  }

  protected synthesizeHclAttributes(): { [name: string]: any } {
    const attrs = {
      container: {
        value: cdktn.stringToHclTerraform(this._container),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      command: {
        value: cdktn.listMapperHcl(cdktn.stringToHclTerraform, false)(this._command),
        isBlock: false,
        type: "list",
        storageClassType: "stringList",
      },
      environment: {
        value: cdktn.hashMapperHcl(cdktn.stringToHclTerraform)(this._environment),
        isBlock: false,
        type: "map",
        storageClassType: "stringMap",
      },
      environment_wo: {
        value: this.markWriteOnlyAttribute(cdktn.hashMapperHcl(cdktn.stringToHclTerraform)(this._environmentWo)),
        isBlock: false,
        type: "map",
        storageClassType: "stringMap",
      },
      environment_wo_version: {
        value: cdktn.numberToHclTerraform(this._environmentWoVersion),
        isBlock: false,
        type: "simple",
        storageClassType: "number",
      },
      cwd: {
        value: cdktn.stringToHclTerraform(this._cwd),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      user: {
        value: cdktn.numberToHclTerraform(this._user),
        isBlock: false,
        type: "simple",
        storageClassType: "number",
      },
      group: {
        value: cdktn.numberToHclTerraform(this._group),
        isBlock: false,
        type: "simple",
        storageClassType: "number",
      },
      triggers: {
        value: cdktn.hashMapperHcl(cdktn.stringToHclTerraform)(this._triggers),
        isBlock: false,
        type: "map",
        storageClassType: "stringMap",
      },
      destroy_command: {
        value: cdktn.listMapperHcl(cdktn.stringToHclTerraform, false)(this._destroyCommand),
        isBlock: false,
        type: "list",
        storageClassType: "stringList",
      },
      fail_on_error: {
        value: cdktn.booleanToHclTerraform(this._failOnError),
        isBlock: false,
        type: "simple",
        storageClassType: "boolean",
      },
      record_output: {
        value: cdktn.booleanToHclTerraform(this._recordOutput),
        isBlock: false,
        type: "simple",
        storageClassType: "boolean",
      },
      timeout: {
        value: cdktn.stringToHclTerraform(this._timeout),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      timeouts: {
        value: containerExecTimeoutsToHclTerraform(this._timeouts.internalValue),
        isBlock: true,
        type: "struct",
        storageClassType: "ContainerExecTimeouts",
      },
      remote: {
        value: cdktn.stringToHclTerraform(this._remote),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
      project: {
        value: cdktn.stringToHclTerraform(this._project),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
      },
    };

    // remove undefined attributes
    return Object.fromEntries(Object.entries(attrs).filter(([_, value]) => value !== undefined && value.value !== undefined ))
  }
}
