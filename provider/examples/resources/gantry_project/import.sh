terraform import gantry_project.example 'team'
