# Completion of agent for fish.
function __agent_complete
    set -l before (commandline -opc)
    set -l now (commandline -ct)
    set -l found (command agent __complete $before[2..-1] "$now" 2>/dev/null </dev/null)
    switch "$found[1]"
        case :files
            __fish_complete_path "$now"
        case :folders
            __fish_complete_directories "$now"
        case '*'
            printf '%s\n' $found
    end
end
complete -c agent -f -a '(__agent_complete)'
