// https://registry.terraform.io/providers/gantry/gantry/latest/docs/ephemeral-resources/container_exec
// generated from terraform resource schema

import { Construct } from 'constructs';
import * as cdktn from 'cdktn';

// Configuration

export interface EphemeralGantryContainerExecConfig extends cdktn.TerraformEphemeralMetaArguments {
  /**
  * Name of the container, which must run.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/ephemeral-resources/container_exec#container EphemeralGantryContainerExec#container}
  */
  readonly container: string;
  /**
  * Command and arguments.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/ephemeral-resources/container_exec#command EphemeralGantryContainerExec#command}
  */
  readonly command: string[];
  /**
  * Environment variables, in addition to those of the container.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/ephemeral-resources/container_exec#environment EphemeralGantryContainerExec#environment}
  */
  readonly environment?: { [key: string]: string };
  /**
  * Directory to run in.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/ephemeral-resources/container_exec#cwd EphemeralGantryContainerExec#cwd}
  */
  readonly cwd?: string;
  /**
  * User id in the container.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/ephemeral-resources/container_exec#user EphemeralGantryContainerExec#user}
  */
  readonly user?: number;
  /**
  * Group id in the container.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/ephemeral-resources/container_exec#group EphemeralGantryContainerExec#group}
  */
  readonly group?: number;
  /**
  * Any values. Terraform waits until all of them are known: with `created_at` of a container from the same apply, it opens this resource only after that container exists.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/ephemeral-resources/container_exec#triggers EphemeralGantryContainerExec#triggers}
  */
  readonly triggers?: { [key: string]: string };
  /**
  * Command to run when Terraform no longer needs the output, for example to revoke a token. Its arguments cannot refer to the output of `command`.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/ephemeral-resources/container_exec#close_command EphemeralGantryContainerExec#close_command}
  */
  readonly closeCommand?: string[];
  /**
  * Whether an exit code other than 0 is an error.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/ephemeral-resources/container_exec#fail_on_error EphemeralGantryContainerExec#fail_on_error}
  */
  readonly failOnError?: boolean | cdktn.IResolvable;
  /**
  * Time limit of the run.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/ephemeral-resources/container_exec#timeout EphemeralGantryContainerExec#timeout}
  */
  readonly timeout?: string;
  /**
  * The server of the object: a name from the provider's `remotes`. Default: the server of the provider block.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/ephemeral-resources/container_exec#remote EphemeralGantryContainerExec#remote}
  */
  readonly remote?: string;
  /**
  * Project of the object, on servers with projects. Default: the project of the provider.
  *
  * Docs at Terraform Registry: {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/ephemeral-resources/container_exec#project EphemeralGantryContainerExec#project}
  */
  readonly project?: string;
}

/**
* Represents a {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/ephemeral-resources/container_exec gantry_container_exec}
*/
export class EphemeralGantryContainerExec extends cdktn.TerraformEphemeralResource {

  // =================
  // STATIC PROPERTIES
  // =================
  public static readonly tfResourceType = "gantry_container_exec";

  // ===========
  // INITIALIZER
  // ===========

  /**
  * Create a new {@link https://registry.terraform.io/providers/gantry/gantry/latest/docs/ephemeral-resources/container_exec gantry_container_exec} Ephemeral Resource
  *
  * @param scope The scope in which to define this construct
  * @param id The scoped construct ID. Must be unique amongst siblings in the same scope
  * @param options EphemeralGantryContainerExecConfig
  */
  public constructor(scope: Construct, id: string, config: EphemeralGantryContainerExecConfig) {
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
      forEach: config.forEach
    });
    this._container = config.container;
    this._command = config.command;
    this._environment = config.environment;
    this._cwd = config.cwd;
    this._user = config.user;
    this._group = config.group;
    this._triggers = config.triggers;
    this._closeCommand = config.closeCommand;
    this._failOnError = config.failOnError;
    this._timeout = config.timeout;
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

  // close_command - computed: false, optional: true, required: false
  private _closeCommand?: string[]; 
  public get closeCommand() {
    return this.getListAttribute('close_command');
  }
  public set closeCommand(value: string[]) {
    this._closeCommand = value;
  }
  public resetCloseCommand() {
    this._closeCommand = undefined;
  }
  // Temporarily expose input value. Use with caution.
  public get closeCommandInput() {
    return this._closeCommand;
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

  // project - computed: false, optional: true, required: false
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
      cwd: cdktn.stringToTerraform(this._cwd),
      user: cdktn.numberToTerraform(this._user),
      group: cdktn.numberToTerraform(this._group),
      triggers: cdktn.hashMapper(cdktn.stringToTerraform)(this._triggers),
      close_command: cdktn.listMapper(cdktn.stringToTerraform, false)(this._closeCommand),
      fail_on_error: cdktn.booleanToTerraform(this._failOnError),
      timeout: cdktn.stringToTerraform(this._timeout),
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
      close_command: {
        value: cdktn.listMapperHcl(cdktn.stringToHclTerraform, false)(this._closeCommand),
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
      timeout: {
        value: cdktn.stringToHclTerraform(this._timeout),
        isBlock: false,
        type: "simple",
        storageClassType: "string",
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
