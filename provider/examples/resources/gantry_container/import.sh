terraform import gantry_container.example 'web,image=debian/12'
