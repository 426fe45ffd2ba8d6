export function entity(){const element=document.createElement("div");return{element,update(){},title:()=>"x"}}
