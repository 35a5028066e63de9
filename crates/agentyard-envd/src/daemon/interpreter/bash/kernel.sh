# One context of bash: runs cells one after the other in one shell.
#
# The daemon talks over the socket that is standard input when this starts: variables for the cell and the cell, each
# ended by a zero byte. The answer is a message with two fields, `done` and the exit status.
exec 9<&0 </dev/null
trap : INT
while IFS= read -r -d '' -u 9 AGENTYARD_VARIABLES && IFS= read -r -d '' -u 9 AGENTYARD_CELL; do
    # Programs that the cell starts do not get the socket.
    eval "$AGENTYARD_VARIABLES eval \"\$AGENTYARD_CELL\"" 9<&-
    printf '\0\0\0\017\0\0\0\004done\0\0\0\003%03d' "$?" >&9
done
